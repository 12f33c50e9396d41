# Every figure is a target; `make` alone prints them all.
# A target is a line `name: ## minutes | text` with, further down, its recipe.

PYTHON ?= python3
SCALE ?= quick
JOBS ?=
DEVICE ?= cpu
LAUNCHER ?= local
SEEDS ?=
STALE ?= again
TENSORBOARD ?=
HOURS ?= 2
DRY ?=
# From the command line alone, also with `make -e`: shells have an ENV of their own.
OWN := N SEED PAPER ENV METHOD OUT A B METRICS
$(foreach name,$(OWN),$(if $(filter environment,$(origin $(name))),$(eval override undefine $(name))))
N ?= 100

VENV := .venv
PY := $(VENV)/bin/python
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip install -qq
ROOMS := bias-reduced-her ners ref-er sibling-rivalry ter

.DEFAULT_GOAL := help
.NOTPARALLEL:

# ---- the list -------------------------------------------------------------------------------------------------------
help:             ##   0 | this list

setup:            ##   3 | install everything into .venv: training, optional packages, tests
dreamer:          ##   3 | install DreamerV2 into .venv-dreamer, for ter-fig-l14 (2 GB)
test:             ##   7 | run the tests on up to 8 cores
lint:             ##   1 | run ruff and mypy
package:          ##   3 | build the package, install it into an empty environment, test it there
mutants:          ##  11 | do the tests catch seeded faults? One fault at a time, in copies of the code
torture:          ##   5 | kill N=100 runs at random moments, resume, compare results: SEED=
smoke:            ##   6 | train every figure from scratch for a few steps: is everything wired?
reproduce:        ##  20 | train and draw the headline figures, judge their claims: runs/report.html
evidence:         ## 120 | train and collect the runs that undecided claims lack: HOURS=2 PAPER= DRY=1
all:              ## 5820 | train and draw every figure and table of every paper
figures:          ##   1 | redraw every figure from the committed results, without training
claims:           ##   0 | judge the committed results: RESULTS.md, the rooms' VERDICTS.md, README.md
collect:          ##   0 | merge this machine's finished runs at SCALE into the committed results
compare:          ##   0 | settings and curves of two runs: A=runs/... B=runs/... METRICS=a,b OUT=c.png
arena:            ## 760 | every replay idea against uniform replay on common tasks; SCALE=smoke or quick
site:             ##   1 | texts, annotated code, figures and claims as pages: site/index.html
report:           ##   0 | claims and figures alone: site/report/index.html
watch:            ##   0 | watch a trained agent: PAPER= ENV= METHOD= (none: a list); OUT=a.gif: no window
export:           ##   1 | export it for the Hugging Face hub: PAPER= ENV= METHOD= OUT=folder
read:             ##   0 | texts, and the methods' code beside comments and equations, alone
notebook:         ##   6 | write and execute a Jupyter notebook in site/notebooks/: PAPER=ter
bench:            ##  12 | time the hot parts against other libraries; the fastest: `make peers bench`
peers:            ##   3 | install the fastest peers of `bench` into .venv-peers (3 GB)
bench-fetch:      ## 140 | HER on FetchReach and FetchPush beside Stable-Baselines3's: ENV= SEEDS=
clean:            ##   0 | remove caches and site/; keep .venv, runs/ and results
clean-runs:       ##   0 | remove runs/ (checkpoints and logs of every run); keep results

bias-reduced-her:            ## 660 | Bias-reduced hindsight experience replay: every figure below
bias-reduced-her-fig1:       ##   0 | pictures of the three ball-throwing tasks
bias-reduced-her-fig2:       ##   0 | target distribution of virtual goals
bias-reduced-her-table1:     ## 300 | positions of virtual goals (the runs of fig3)
bias-reduced-her-table2:     ## 300 | their distance from the target distribution (the runs of fig3)
bias-reduced-her-fig3:       ## 300 | success rate and distance to the goal: HER, Filtered-HER, IBS, both
bias-reduced-her-fig4:       ## 300 | estimated against realised value (the runs of fig3)
bias-reduced-her-bitflip:    ##  10 | bit flipping: the bias of a useless action's value, exactly
bias-reduced-her-appendix-a: ##   1 | goal distributions as Gaussian mixtures; a goal distribution that moves
bias-reduced-her-own-estimates: ## 300 | not in the paper: where the value is over-estimated (the runs of fig3)
bias-reduced-her-own-goals:  ##  20 | Appendix A with a learner: goals from a mixture, goals that move
bias-reduced-her-own-grid:   ##  10 | not in the paper: IBS with the other reading of sigma, on a finer grid
bias-reduced-her-own-penalty:##  30 | not in the paper: the filter with a penalty on actions
bias-reduced-her-own-her:    ##  25 | not in the paper: three settings in which the filter could matter more, or less
bias-reduced-her-own-fetch-her: ##  65 | not in the paper: HER and no hindsight on FetchPush, in HER's own protocol
bias-reduced-her-own-fetch:  ## 130 | not in the paper: the filter on FetchPush, in HER's own protocol
bias-reduced-her-own-fetch-fresh: ## 130 | not in the paper: HER and the filter on FetchPush, ten fresh seeds
bias-reduced-her-own-fetch-misleading: ##   0 | not in the paper: a misleading goal of FetchPush, drawn

ners:           ## 1550 | Neural experience replay sampler: every figure and table below
ners-own-why:    ##   5 | not in the paper: why its scores are nearly equal; what its networks do
ners-fig1:       ##  20 | transitions of the pendulum drawn by TD error, by Q and uniformly
ners-fig3:       ## 190 | SAC and TD3 with four samplers on sparse pendulum, lander and walker
ners-fig4:       ## 120 | NERS with few features, without global context, with training returns
ners-fig5:       ## 480 | Q and TD errors of replayed transitions (the runs of fig3 and table1)
ners-table1:     ## 250 | SAC and TD3 with four samplers on MuJoCo
ners-table2:     ##  95 | Rainbow with four samplers on Atari
ners-table3:     ##  30 | spread of TD errors and Q of replayed transitions, pendulum
ners-fig-c1:     ## 250 | learning curves of table1
ners-fig-c2:     ##  95 | learning curves of table2
ners-own-law:    ##  20 | not in the paper: distance from uniform under every reading of the paper
ners-own-time: ##  95 | not in the paper: NERS with the environment's step as time, for 100,000 steps
ners-own-hopper: ## 800 | not in the paper: NERS and uniform sampling on Hopper, for 300,000 steps
ners-own-distance: ## 600 | not in the paper: distance of each sampler from uniform
ners-own-td3-lr: ##  12 | not in the paper: the learning rate of TD3 with uniform sampling

ref-er:        ## 1890 | Remember and Forget for Experience Replay: every figure below
ref-er-fig1:   ## 270 | DDPG: returns with plain and prioritised replay and with ReF-ER, rule by rule
ref-er-fig2:   ## 270 | DDPG: divergence of the policy from the replayed behaviour (the runs of fig1)
ref-er-fig3:   ## 160 | NAF: returns, as fig1
ref-er-fig4:   ## 410 | V-RACER with ReF-ER, rule by rule, PPO and ACER: returns
ref-er-fig5:   ## 410 | V-RACER, PPO and ACER: divergence (the runs of fig4)
ref-er-fig6:   ## 150 | a swimmer in a cylinder's wake, recurrent networks: V-RACER, DDPG, ACER
ref-er-fig7:   ## 215 | V-RACER: sensitivity to C, D, memory, batch, steps per update, learning rate
ref-er-fig8:   ## 105 | V-RACER: sensitivity to annealing and width; closed-form advantages
ref-er-own-kl: ##  10 | not in the paper: the other direction of the divergence
ref-er-own-memory:    ##  25 | not in the paper: DDPG's divergence with a larger memory
ref-er-own-annealing: ##  50 | not in the paper: DDPG and PPO without annealing
ref-er-own-segments:  ## 480 | not in the paper: ACER with the full protocol's segments of 200 steps
ref-er-own-million:   ##  45 | not in the paper: V-RACER's first million steps with the paper's settings

sibling-rivalry:     ## 1500 | Sibling Rivalry: every figure below
sibling-rivalry-fig1: ##   1 | a track on which the distance to the goal is a trap, and a way out
sibling-rivalry-fig2: ##   1 | Sibling Rivalry on the track, sibling by sibling (the runs of fig1)
sibling-rivalry-fig3: ## 400 | point maze and ant maze: PPO, Sibling Rivalry, ICM, RND, DDPG+HER
sibling-rivalry-fig4: ## 130 | pixel grid: PPO, Sibling Rivalry, ICM, DQN, DQN+HER
sibling-rivalry-fig5: ## 205 | construction: IMPALA with the naive reward and with Sibling Rivalry
sibling-rivalry-fig6: ##  50 | corridors and U mazes of increasing length
sibling-rivalry-fig7: ##  25 | the inclusion threshold: 0, 1, 2, 3, 5, 7, 10
sibling-rivalry-fig8: ##  85 | siblings with different starts
sibling-rivalry-fig9: ## 170 | the Grid Oracle in point maze and ant maze
sibling-rivalry-own-whole-grid: ## 180 | not in the paper's length: one run each on 13 x 13 pixels
sibling-rivalry-own-weighting:  ##  20 | not in the paper: means over workers or over one pool
sibling-rivalry-own-ant-short:  ##  90 | not in the paper: half the ant maze, short runs
sibling-rivalry-own-ant-long:   ## 300 | not in the paper: half the ant maze, runs of the paper's length
sibling-rivalry-own-dense-grid: ##  40 | not in the paper: the grid's dense rewards for longer
sibling-rivalry-own-low-level:  ##  12 | not in the paper: the ant's low level alone, without walls
sibling-rivalry-own-tasks: ##   0 | not in the paper: pictures of all tasks

ter:              ## 380 | Topological Experience Replay: every figure below
ter-fig2:         ##   1 | NChain: backups until the greedy path is right, and value error
ter-fig3a:        ##  30 | MiniGrid: TER against UER, PER, EBU and DisCor
ter-fig3b:        ##   5 | Sokoban: TER against UER, PER, EBU and DisCor
ter-fig4:         ##   6 | baselines that learn more often than TER, and their over-estimation
ter-fig5:         ##  26 | share of PER in TER's batches
ter-fig6:         ##  10 | TER reduced to EBU's setting: one root, one predecessor
ter-table-b1:     ##  11 | seconds to build one batch (committed: with JOBS=1)
ter-fig-d1:       ##   1 | pictures of the tasks
ter-fig-e7:       ##   5 | Sokoban: mean Q against the largest return (the runs of fig3b)
ter-fig-f8:       ##  16 | EBU's diffusion factor
ter-fig-g9:       ##  22 | 10 % random actions
ter-fig-h10:      ##  46 | tasks that do not end at the goal
ter-fig-i11:      ##  10 | EBU with PER mixed in
ter-fig-j12:      ##  16 | EBU without episodes that ran out of time
ter-fig-k13:      ##   1 | length of the random projection
ter-fig-l14:      ##  85 | DreamerV2 beside TER, by steps and by time; installs .venv-dreamer
ter-fig-m15:      ##  10 | Atari: TER against UER, PER, EBU and DisCor
ter-own-target:   ##  16 | not in the paper: how often the target network is copied
ter-own-network:  ##  55 | not in the paper: the small network on tile codes, and the paper's on pictures
ter-own-bend:     ##   5 | not in the paper: Sokoban with the bend of the loss at the largest return
ter-own-memory:   ##   4 | not in the paper: Sokoban's baselines with a memory of 50,000
ter-own-levels:   ##   3 | not in the paper: Sokoban with two boxes trained on 64 levels
ter-own-replayed: ##  12 | not in the paper: distance to the goal of what each method replays
ter-own-predecessors: ## 3 | not in the paper: sweeps with 1 and with 3 predecessors, without a network

quoted = '$(subst ','\'',$(1))'
# This file is the last of the list; paths may have spaces, so it is what is left once the first words are taken away.
hash := \#
HERE := $(call quoted,$(shell here=$(call quoted, $(MAKEFILE_LIST)); \
    while [ ! -f "$$here" ] && [ "$$here" != "$${here$(hash)* }" ]; do here=$${here$(hash)* }; done; printf %s "$$here"))
TARGETS := $(shell awk -F: '/^[a-z][a-z0-9-]*: *\#\#/ {print $$1}' < $(HERE))
.PHONY: $(TARGETS)

# ---- a typing mistake costs one line, not an installation -------------------------------------------------------------
UNKNOWN := $(firstword $(filter-out $(TARGETS),$(MAKECMDGOALS)))
ifneq ($(UNKNOWN),)
ROOM := $(strip $(foreach room,$(ROOMS),$(if $(filter $(room)-%,$(UNKNOWN)),$(room))))
$(error unknown target "$(UNKNOWN)": $(if $(ROOM),choose from: $(filter $(ROOM)-%,$(TARGETS)),`make` lists them all))
endif
CHECKED := SCALE JOBS DEVICE LAUNCHER SEEDS STALE TENSORBOARD HOURS DRY N SEED
WRONG := $(shell $(PYTHON) -m lab.options $(foreach name,$(CHECKED),$(call quoted,$(name)=$($(name)))) 2>/dev/null)
$(if $(WRONG),$(error $(WRONG)))

# ---- recipes --------------------------------------------------------------------------------------------------------
help:
	@echo "Targets, with minutes on 2 cores at SCALE=quick after installation (finished runs are not repeated):"
	@awk 'BEGIN {FS = ": *## *"} /^[a-z][a-z0-9-]*: *##/ {split($$2, cell, / *\| */); \
	    printf "  %-28s %4s min  %s\n", $$1, cell[1], cell[2]}' < $(HERE)
	@echo "Variables: SCALE=smoke|quick|long|full (now $(SCALE))  JOBS=processes ($(or $(JOBS),one per core))  DEVICE=cpu|cuda ($(DEVICE))"
	@echo "    LAUNCHER=local|ray|slurm ($(LAUNCHER))  SEEDS=5 (0 to 4) or 3,7 ($(or $(SEEDS),the experiments' own))"
	@echo "    TENSORBOARD=1 (event files beside the runs)  STALE=again|keep ($(STALE); runs whose code has changed)"

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "error: \
	$(PYTHON) is missing or older than 3.11; install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)

# pip has --group since 25.1; that of a new environment may be older.
INSTALL = $(PIP) 'pip>=25.1' && $(PIP) -r requirements.txt

$(VENV)/.run: requirements.txt | $(PY)
	@echo "Installing $< into $(VENV) (once; a few minutes)"
	@$(INSTALL)
	@touch $@

# One stamp for each group of pyproject.toml.
$(VENV)/.%: pyproject.toml $(VENV)/.run
	@echo "Installing group $* of $< into $(VENV) (once)"
	@$(INSTALL) --group $*
	@touch $@

# DreamerV2 runs in a process and an environment of its own.
.venv-dreamer/.ready: papers/ter/agents/requirements-dreamer.txt
	@echo "Installing $< into .venv-dreamer (once; a few minutes, 2 GB)"
	@$(PYTHON) -m venv .venv-dreamer
	@.venv-dreamer/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

dreamer: .venv-dreamer/.ready
	@echo ".venv-dreamer is ready"

# They play our environments, so they come beside our own pins; what they bring along is kept apart from training.
.venv-peers/.ready: benchmarks/requirements-peers.txt requirements.txt
	@echo "Installing $< into .venv-peers (once; a few minutes, 3 GB)"
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r $<
	@touch $@

peers: .venv-peers/.ready
	@echo ".venv-peers is ready"

setup: $(VENV)/.dev
	@echo "$(VENV) is ready"

test: $(VENV)/.dev
	@$(PY) -m pytest -n $(or $(JOBS),auto) --maxprocesses 8 --dist worksteal

lint: $(VENV)/.dev
	@$(PY) -m ruff check .
	@$(PY) -m mypy

package: $(VENV)/.dev
	@$(PY) -m tests.package

torture: $(VENV)/.dev
	@$(PY) -m tests.torture --n $(N) $(if $(JOBS),--jobs $(JOBS)) $(if $(SEED),--seed $(SEED))

mutants: $(VENV)/.dev
	@$(PY) -m tests.mutants $(if $(JOBS),--jobs $(JOBS))

LAB := $(PY) -m lab
ARENA := $(PY) -m arena
SEEDED = $(if $(SEEDS),--seeds $(SEEDS))
HOW = $(if $(JOBS),--jobs $(JOBS)) --device $(DEVICE) --launcher $(LAUNCHER) --stale $(STALE) \
    $(if $(filter 1,$(TENSORBOARD)),--tensorboard)
OPTIONS = --scale $(SCALE) $(SEEDED) $(HOW)

smoke reproduce evidence all bias-reduced-her bias-reduced-her-appendix-a: $(VENV)/.extras
ifeq ($(TENSORBOARD),1)
arena $(filter $(ROOMS) $(ROOMS:%=%-%),$(TARGETS)): $(VENV)/.extras
endif
smoke all ter ter-fig-l14: .venv-dreamer/.ready

smoke: $(VENV)/.run
	@rm -rf runs/smoke
	@$(LAB) run all --scale smoke $(SEEDED) $(HOW) --runs runs/smoke

# Runs that failed (status 1) do not keep the others from being judged.
reproduce: $(VENV)/.run
	@$(LAB) run all --headline $(OPTIONS); status=$$?; [ $$status -le 1 ] || exit $$status; \
	    $(LAB) claims --mine --show && $(PY) -m lab.pages.mine --scale $(SCALE) && exit $$status

evidence: $(VENV)/.run
	@$(LAB) evidence $(or $(PAPER),all) --hours $(HOURS) $(if $(filter 1,$(DRY)),--dry) $(HOW)

collect: $(VENV)/.run
	@$(LAB) collect all --scale $(SCALE) $(SEEDED) --device $(DEVICE)
	@$(if $(filter quick,$(SCALE)),$(ARENA) collect replay --scale $(SCALE) $(SEEDED))

all: $(VENV)/.run
	@$(LAB) run all $(OPTIONS)

figures: $(VENV)/.run
	@$(LAB) figures
	@$(ARENA) figures

claims: $(VENV)/.run
	@$(ARENA) claims & arena=$$!; $(LAB) claims && wait $$arena

arena: $(VENV)/.run
	@$(ARENA) run replay $(OPTIONS) $(if $(filter smoke,$(SCALE)),--runs runs/smoke)

compare: $(VENV)/.run
	@$(LAB) compare "$(A)" "$(B)" $(if $(METRICS),--metrics "$(METRICS)") $(if $(OUT),--out "$(OUT)")

site: $(VENV)/.run
	@$(PY) -m lab.pages.site

report: $(VENV)/.run
	@$(PY) -m lab.pages.report

watch: $(VENV)/.run
	@$(PY) -m lab.pages.watch --paper "$(PAPER)" --env "$(ENV)" --method "$(METHOD)" $(if $(OUT),--out "$(OUT)")

export: $(VENV)/.hub
	@$(PY) -m lab.hub --paper "$(PAPER)" --env "$(ENV)" --method "$(METHOD)" --out "$(OUT)"

read: $(VENV)/.run
	@$(PY) -m lab.pages.read

notebook: $(VENV)/.notebook
	@$(PY) -m lab.pages.notebook "$(PAPER)" --scale $(SCALE)

# OPENBLAS_CORETYPE would hold our kernels, and no peer, to the instructions of another processor.
bench: $(VENV)/.bench
	@env -u OPENBLAS_CORETYPE $(PY) -m benchmarks

bench-fetch: $(VENV)/.bench
	@$(PY) -m benchmarks.fetch_curves --env "$(ENV)" --seeds "$(SEEDS)"

clean:
	@find . -path ./$(VENV) -prune -o -path ./runs -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
	@rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis site

clean-runs:
	@rm -rf runs

# One rule for a paper (`make ter`) and one for its figures (`make ter-fig2`).
define room_rules
$(1): $(VENV)/.run
	@$$(LAB) run $(1) $$(OPTIONS)

$(filter $(1)-%,$(TARGETS)): $(1)-%: $(VENV)/.run
	@$$(LAB) run $(1) $$* $$(OPTIONS)
endef
$(foreach room,$(ROOMS),$(eval $(call room_rules,$(room))))
