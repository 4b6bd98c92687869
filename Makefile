# Targets for people. CMake does the work (CMakePresets.json), scripts/ the set-up.
#   make            build into build/bin/
#   make demo       set up, build, make a synthetic model and record it; ENGINE=vulkan: on Vulkan
#   make test       build with -Werror, run unit and golden tests with sanitizers, run every test;
#                   the last line is "N passed, N failed"
#   make test-full  also tests that take long: fuzzing, other engines, all attacks
#   make test-matrix   of these, only the stock releases of llama.cpp, old and new
#   make test-cuda  ops and kernels on an NVIDIA GPU; prints the reason if that is not possible
#   make check      format, tidy, cppcheck, gcc and clang with -Werror, ASan+UBSan tests, fuzz smoke
#   make bench      measurements, each as a ratio
#   make docs       write docs/json.md, docs/glossary.md and docs/tables.md from the program
#   make install PREFIX=/usr/local [DESTDIR=]
#   make uninstall [DESTDIR=]   remove the files of the last install
#   make deb        make a Debian package in build/
#   make dist       make a source archive in build/ that builds without a repository
# GGSCOPE_ENGINE=DIR in the environment or on the command line builds for another llama.cpp.

PREFIX ?= /usr/local
VERSION := $(shell awk '/^project/ { print $$3 }' CMakeLists.txt)
export GGSCOPE_ENGINE

.PHONY: all demo test test-full test-matrix test-cuda check bench docs install uninstall deb dist clean format

all:
	@scripts/bootstrap build
	@cmake --preset release $(if $(WERROR),-DGGSCOPE_WERROR=$(WERROR)) $(if $(VERBOSE),,--log-level=WARNING >/dev/null)
	@cmake --build --preset release $(if $(VERBOSE),--verbose,-- --quiet)

demo: all
	@scripts/demo $(ENGINE)

test:
	@scripts/bootstrap test
	@$(MAKE) --no-print-directory all WERROR=ON
	@scripts/check-memory
	@tests/run

test-full:
	@scripts/bootstrap check
	@$(MAKE) --no-print-directory all
	@tests/run --full

test-matrix:
	@scripts/bootstrap test
	@$(MAKE) --no-print-directory all
	@tests/run --full full/matrix

test-cuda:
	@scripts/bootstrap test
	@$(MAKE) --no-print-directory all
	@tests/run --cuda

check:
	@scripts/bootstrap check
	@scripts/check

bench: all
	@tests/bench/run

docs: all
	@build/bin/contract markdown docs/json.md
	@build/bin/contract glossary docs/glossary.md
	@build/bin/ggscope export --tables > docs/tables.md

install: all
	@cmake --install build --prefix '$(PREFIX)'

uninstall:
	@scripts/uninstall

deb:
	@scripts/bootstrap deb
	@$(MAKE) --no-print-directory all
	@cd build && cpack -G DEB --config CPackConfig.cmake >cpack.log || { cat cpack.log; exit 1; }
	@ls build/ggscope_*.deb

dist:
	@git archive --format=tar.gz --prefix=ggscope-$(VERSION)/ -o build/ggscope-$(VERSION).tar.gz HEAD
	@ls build/ggscope-$(VERSION).tar.gz

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build
