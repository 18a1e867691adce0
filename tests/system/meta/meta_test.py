#!/usr/bin/env python3
"""The tests of this folder can fail: what each must notice is planted in a text and given to it.

usage: meta_test.py
"""
import pathlib
import tempfile
import unittest

import code_blocks_test
import hidden_constants_test
import options_read_test
import times
import type_names_test
import vector_sources_test


class Times(unittest.TestCase):
    """times.py: what a machine takes is left out, what the accelerator would take is not."""

    def test_simulated_time_stays(self):
        text = "simulated time 729.3 us at 1000 MHz; the simulation took 1.6 ms"
        self.assertEqual(times.without_times(text), "simulated time 729.3 us at 1000 MHz; the simulation took TIME")
        for text in ("simulated time 111.1 us", '"simulated_seconds": 7.29e-4', '"simulated_cycles": 7', "0.5 s"):
            self.assertEqual(times.without_times(text), text)

    def test_measured_times_go(self):
        for text in ("seconds  678.5 us", "pictures per second  1,473", "took 3 s", '"wall_seconds": 1.5e-3',
                     '"simulate": 0.5', '"compare": 2.5e-05', '"pictures_per_second": 1473.2'):
            self.assertIn("TIME", times.without_times(text))
            self.assertNotRegex(times.without_times(text), r"\d")


class Blocks(unittest.TestCase):
    """code_blocks_test.py: what looks like commands is run or says why not."""

    def test_a_page_with_a_report_says_where_the_chart_library_comes_from(self):
        def fault(command, more=""):
            text = f"\n    build/release/qsim {command}\n\n{more}\n"
            with tempfile.TemporaryDirectory() as name:
                page = pathlib.Path(name, "page.md")
                page.write_text(text)
                return code_blocks_test.missing_library(page, code_blocks_test.blocks(text, "page.md"))

        self.assertIn("the-chart-library", fault("profile --report a.html"))
        self.assertEqual("", fault("profile --report a.html", "[library](output.md#the-chart-library)"))
        self.assertEqual("", fault("quantize a.onnx -o b.onnx --report a.html"))
        self.assertEqual("", fault("run --json a.json"))

    def blocks(self, text):
        return [(block.reason, block.fenced) for block in code_blocks_test.blocks(text, "page.md")]

    def test_blocks_of_commands_are_found(self):
        for text in ("    qsim run\n", "    $ (ulimit -d 9; qsim)\n", "    cat file\n", "    no_such_tool --all x\n"):
            self.assertEqual(self.blocks("Text.\n\n" + text), [("", False)], text)
        for kind in ("sh", "bash", "python", "console"):
            self.assertEqual(self.blocks(f"```{kind}\nx = 1\n```\n"), [("", True)])
        self.assertEqual(self.blocks("```\nqsim run\n```\n"), [("", True)])

    def test_others_are_not(self):
        for text in ("    free  = start + occupancy\n", "    sum of (x - z) * w\n", "    for (c < C):\n"):
            self.assertEqual(self.blocks("Text.\n\n" + text), [], text)
        self.assertEqual(self.blocks("```yaml\nname: x\n```\n"), [])

    def test_a_mark_counts_for_the_next_block_alone(self):
        text = "<!-- not run: why -->\n\n    qsim run\n\nText.\n\n    qsim verify\n"
        self.assertEqual(self.blocks(text), [("why", False), ("", False)])
        text = "<!-- not run: why -->\n\n```sh\nqsim\n```\n\n    qsim verify\n"
        self.assertEqual(self.blocks(text), [("why", True), ("", False)])

    def test_what_cannot_be_run_needs_a_mark(self):
        for text in ("    $ qsim\n", "    ./dev test\n", "```sh\nqsim\n```\n"):
            block = code_blocks_test.blocks("\n" + text, "page.md")[0]
            self.assertIn("needs <!-- not run", code_blocks_test.run(block, pathlib.Path(".")))


class OptionsRead(unittest.TestCase):
    """options_read_test.py."""

    def test_an_option_that_nothing_reads_is_found(self):
        declaration = ("struct RunOptions : ConfigOption {\n  std::string model;  // read\n"
                       "  std::string dataflow = \"auto\";\n  std::optional<std::int64_t> index;\n};\n"
                       "void declare_run(Declarations& declared, RunOptions& options) {\n"
                       "  declared.text(\"--model\", options.model);\n  declared.text(\"-d\", options.dataflow);\n"
                       "  declared.number(\"-i\", options.index);\n}\n")
        readers = ["void run(const RunOptions& options) { load(options.model); }", "const RunOptions& o; take(options_.index);",
                   "dataflow = kDataflow;"]
        self.assertEqual(options_read_test.unread([declaration, *readers]), [("RunOptions", "dataflow")])
        # Another struct's member of the same name is not a reader.
        other = "struct GoOptions {\n  std::string dataflow;\n};\nvoid go(GoOptions& options) { take(options.dataflow); }"
        self.assertEqual(options_read_test.unread([declaration, *readers, other]), [("RunOptions", "dataflow")])


class VectorSources(unittest.TestCase):
    """vector_sources_test.py."""

    def faults(self, command, folder="golden"):
        """What it says of a source that includes a header with such a function, and of one without."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name).resolve()
            (root / folder).mkdir()
            (root / folder / "lanes.h").write_text('#define LANES __attribute__((target_clones("default", "avx2")))\n')
            (root / folder / "a.cpp").write_text(f'#include "{folder}/lanes.h"\n')
            (root / folder / "b.cpp").write_text("#include <vector>\n")
            commands = [{"directory": str(root), "file": f"{folder}/{source}.cpp", "command": command} for source in "ab"]
            return [fault.split(";")[0] for fault in vector_sources_test.faults(root, commands)[1]]

    def test_a_source_whose_operations_may_be_fused_is_found(self):
        self.assertEqual(self.faults("c++ -O3"), ["golden/a.cpp: is compiled without -ffp-contract=off"])
        self.assertEqual(self.faults("c++ -O3 -ffp-contract=off -include cmake_pch.hxx"),
                         ["golden/a.cpp: has a precompiled header"])
        self.assertEqual(self.faults("c++ -O3 -ffp-contract=off"), [])
        self.assertEqual(self.faults("c++ -O3", "bench"), [])


class TypeNames(unittest.TestCase):
    """type_names_test.py."""

    def twice(self, *texts):
        """The names that it says are defined twice."""
        sources = [(f"{number}.h", text) for number, text in enumerate(texts)]
        return [fault.split(" is ")[0] for fault in type_names_test.twice(sources)[1]]

    def test_a_name_that_is_there_twice_is_found(self):
        for text in ("namespace a { struct X { int i; }; }", "namespace a {\nenum class X : int { k };\n}",
                     "namespace a { template <typename T, int n = (1 > 0)> class X final : public Y<T> {}; }",
                     "namespace a {\n#define OPEN {\nunion alignas(16) X { char c; };\n}",
                     "namespace b {} namespace a { struct [[nodiscard]] X { void f() { if (c == '{') return; } }; }",
                     "extern \"C\" { namespace a { class X { // {\n}; } }"):
            self.assertEqual(self.twice("namespace a { struct X { struct Y {}; }; }", text), ["a::X"], text)
        self.assertEqual(self.twice("struct X {};", "struct X {};"), ["X"])

    def test_others_are_not(self):
        for text in ("namespace b { struct X {}; }", "namespace a { namespace { struct X {}; } }",
                     "namespace a { struct X; struct X f() {} }", "namespace a { template <> struct X<int> {}; }",
                     "namespace a { struct Y { struct X {}; }; void f() { struct X {}; } }",
                     "namespace a { struct Y::X : Z {}; } /* namespace a { struct X {}; } */",
                     'namespace a { const char* s = "struct X {};"; auto t = R"(struct X {};)"; }'):
            self.assertEqual(self.twice("namespace a { struct X {}; }", text), [], text)


class HiddenConstants(unittest.TestCase):
    """hidden_constants_test.py."""

    def hidden(self, header, source, path="a/b.cpp"):
        sources = [(pathlib.Path("a/b.h"), header), (pathlib.Path(path), source)]
        return [fault.split(" ")[1] for fault in hidden_constants_test.hidden(sources)[1]]

    def test_a_constant_of_a_header_is_hidden(self):
        header = "namespace a { inline constexpr int kMost = 1; enum { kFirst, kLast = 2 }; }"
        for source in ("constexpr int kMost = 2;", "constexpr X kMost{1};", "const int kMost[] = {1};"):
            self.assertEqual(self.hidden(header, f"namespace a {{ namespace {{ {source} }} }}"), ["kMost"], source)
            self.assertEqual(self.hidden(header, f"namespace a::b {{ namespace {{ {source} }} }}"), ["kMost"], source)
        self.assertEqual(self.hidden(header, "namespace a { namespace { enum { kLast, kOther }; } }"), ["kLast"])

    def test_others_are_not(self):
        header = "namespace a { inline constexpr int kMost = 1; struct S { static constexpr int kIn = 1; }; }"
        for source in ("namespace b { namespace { constexpr int kMost = 2; } }", "namespace a { int f() { kMost; } }",
                       "namespace a { namespace { constexpr int kIn = 2; enum class E { kMost }; } }",
                       "namespace a { namespace { void f() { constexpr int kMost = 2; } } }"):
            self.assertEqual(self.hidden(header, source), [], source)


if __name__ == "__main__":
    unittest.main()
