from hpc.report.predicted import predicted_table


def test_the_table_has_step_time_and_every_rank():
    lines = predicted_table((0.02, 0.021), ((0.0, 0.5), (0.01, 0.52))).splitlines()
    assert lines[1].split() == ["step", "20.00", "ms", "21.00", "ms", "+5.0", "%"]
    assert lines[3].split() == ["idle,", "rank", "1", "50.0", "%", "52.0", "%"]
