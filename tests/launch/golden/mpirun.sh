#!/bin/bash
#SBATCH --job-name=try-1
#SBATCH --nodes=2
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=2
#SBATCH --gpus-per-task=1
#SBATCH --time=02:00:00
#SBATCH --partition=gpu
#SBATCH --output="my runs/%A_%a.out"
#SBATCH --open-mode=append
#SBATCH --array=0-1
#SBATCH --dependency=afterok:11:12
#SBATCH --signal=B:USR1@120
#SBATCH --kill-on-invalid-dep=yes
#SBATCH --requeue
set -u
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc); crowded=""
if [ "$cores" -lt 8 ]; then crowded=yes; export MPIR_CVAR_ENABLE_HEAVY_YIELD=1; fi
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 MKL_NUM_THREADS=2 NUMBA_NUM_THREADS=2
job="${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"
folder='my runs'
word="$folder/$job.first-rank"; mkdir -p "$folder"; rm -f "$word" "$folder/$job.exit"
sweep_lr=(0.1 0.01)
command=(py -m hpc spdnn train net.h5 'it'"'"'s.h5' --lr "${sweep_lr[SLURM_ARRAY_TASK_ID]}" --seed="$SLURM_ARRAY_TASK_ID")
case "$(mpiexec --version 2>&1)" in
*"HYDRA"*) if [ -n "$crowded" ]; then launcher=(mpiexec -n 8 -bind-to none)
  else launcher=(mpiexec -n 8 -bind-to core:2); fi ;;
*"Open MPI"*) if [ -n "$crowded" ]; then launcher=(mpiexec -n 8 --bind-to none --oversubscribe)
  else launcher=(mpiexec -n 8 --bind-to core --map-by slot:PE=2); fi ;;
*) echo "launch: mpirun is of an unknown MPI, expected mpich or openmpi" >&2; exit 1 ;;
esac
# A rank. One that stopped at a checkpoint (3) is no failure that should end the others; the
# first rank leaves its exit code, since launchers may return 0 when a whole host is lost.
as_rank='trap : USR1 TERM INT
word=$1; shift
"$@"
code=$?
rank=${PMI_RANK:-${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:-0}}}}
if [ "$rank" = 0 ]; then echo "$code" >"$word"; fi
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
