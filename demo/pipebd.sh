# The Pipe-BD part of the demonstration; sourced by run.sh, which sets `out` and `step`.
bd="python -m hpc pipebd"
small="vgg16-dsconv --data $out/digits.h5 --width 0.125 --batch 50"

step "A small VGG teacher on real digits, 2 ranks"
python -m datasets digits --out "$out/digits.h5"
mpirun -n 2 $bd teacher $small --epochs 6 --lr 0.05 --quiet --out "$out/teacher.pt"

step "Profile of its blocks, and the schedule searched in it"
mpirun -n 2 $bd profile $small --steps 10 --quiet \
  --out "$out/profile.json"
$bd plan --profile "$out/profile.json" --ranks 2

step "Distillation on 2 ranks: TR+DPU, with its timeline"
mpirun -n 2 $bd train $small --teacher "$out/teacher.pt" --schedule tr+dpu --epochs 3 --quiet \
  --profile "$out/profile.json" --trace "$out/trace.json" --out "$out/student.pt" \
  --json "$out/tr-dpu.json"
$bd timeline "$out/trace.json" --plot "$out/timeline.png"

step "The same under DP, the baseline"
mpirun -n 2 $bd train $small --teacher "$out/teacher.pt" --schedule dp --epochs 3 --quiet \
  --profile "$out/profile.json" --json "$out/dp.json"

step "Fine-tuning of the assembled student"
mpirun -n 2 $bd finetune "$out/student.pt" --data "$out/digits.h5" --batch 50 --epochs 4 \
  --lr 0.03 --quiet --out "$out/finetuned.pt"
$bd evaluate "$out/finetuned.pt" --data "$out/digits.h5" --teacher "$out/teacher.pt"
