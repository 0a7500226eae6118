"""Names that would do harm where they are not quoted."""

NAMES = [
    "two words", " ", "", "it's", 'say "so"', "$(touch harm)", "`touch harm`", "; touch harm",
    "a\nb", "\n#SBATCH --wrap=harm", "a\r\nb", "tab\there", "\x1b[31m\x7f\x01", "-n", "--wrap=harm",
    "ünï-код-数", "\udcff\udcfe", "$HOME", "${HOME}", "*", "~", "!!", "a\\b\\", "\\'\n", "&&", "|",
    ">harm", "{lr}", "{}", "${sweep_lr[0]}", "%j", "#not a comment", "'\"'\"'\n'", "\\n\n0123",
]  # fmt: skip
