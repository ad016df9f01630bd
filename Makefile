# The README's two commands, and what CONTRIBUTING.md asks for. Each target is a script of the same name in scripts/.

.PHONY: run test test-slurm check setup

# Opens the viewer on the demo city; without a display, draws a picture of it instead.
run:
	@scripts/run.sh

# Runs every test, and lists those that were skipped for lack of real data.
test:
	@scripts/test.sh

# Runs the array job of deploy/slurm on a Slurm of its own: as root, on Debian or Ubuntu.
test-slurm:
	@scripts/test-slurm.sh

# Runs every check that CI runs beside the tests; `scripts/check.sh NAME` runs one.
check:
	@scripts/check.sh

# Installs what is missing, as `run`, `test` and `check` do first.
setup:
	@scripts/setup.sh
