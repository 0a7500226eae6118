#!/bin/bash
#SBATCH --job-name=relaycut
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=1
#SBATCH --output=runs/%j.out
#SBATCH --open-mode=append
#SBATCH --kill-on-invalid-dep=yes
#SBATCH --requeue
set -u
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc); crowded=""
if [ "$cores" -lt 4 ]; then crowded=yes; export MPIR_CVAR_ENABLE_HEAVY_YIELD=1; fi
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
job="${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"
folder=runs
word="$folder/$job.first-rank"; mkdir -p "$folder"; rm -f "$word" "$folder/$job.exit"
command=(py -m hpc spdnn train net.h5 x.h5 --checkpoint c --on-failure shrink)
case "$(mpiexec --version 2>&1)" in
*"HYDRA"*) if [ -n "$crowded" ]; then launcher=(mpiexec -n 4 -bind-to none)
  else launcher=(mpiexec -n 4 -bind-to core); fi ;;
*"Open MPI"*) if [ -n "$crowded" ]; then launcher=(mpiexec -n 4 --bind-to none --with-ft ulfm --oversubscribe)
  else launcher=(mpiexec -n 4 --bind-to core --with-ft ulfm); fi ;;
*) echo "launch: mpirun is of an unknown MPI, expected mpich or openmpi" >&2; exit 1 ;;
esac
# A rank that others may outlive. mpirun tells them only of one that a signal ends; those that
# are left come to the same exit code and leave it.
as_rank='trap : USR1 TERM INT
word=$1; shift
"$@"
code=$?
if [ "$code" -gt 128 ]; then kill -KILL "$$"; fi
echo "$code" >"$word"
if [ "$code" -eq 3 ]; then exit 0; fi
exit "$code"'
started=""
trap 'kill -USR1 "$started" 2>/dev/null' USR1
"${launcher[@]}" bash -c "$as_rank" rank "$word" "${command[@]}" &
started=$!
wait "$started"
code=$?
while [ "$code" -gt 128 ] && kill -0 "$started" 2>/dev/null; do
  wait "$started"
  code=$?
done
if [ "$code" -eq 0 ]; then
  for _ in 1 2 3 4 5; do [ -s "$word" ] && break; sleep 1; done
  code=$(cat "$word" 2>/dev/null)
  if [ -z "$code" ]; then
    echo "launch: the ranks ended and the first did not say how: taken as failed" >&2
    code=1
  fi
fi
rm -f "$word"
ended="$folder/$job.exit"
printf '%s\n' "$code" >"$ended.partial" && mv "$ended.partial" "$ended"
if [ "$code" -eq 0 ]; then echo "launch: done"; else echo "launch: exit code $code" >&2; fi
if [ "$code" -eq 3 ]; then
  echo "launch: stopped at a checkpoint, queued again" >&2
  scontrol requeue "$job" && sleep 60  # until SLURM ends this script
fi
exit "$code"
