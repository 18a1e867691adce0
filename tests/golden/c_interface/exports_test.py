#!/usr/bin/env python3
"""libqsim_golden exports each function that its headers declare, and nothing else.

usage: exports_test.py HEADER... LIBRARY"""
import re
import subprocess
import sys

*headers, library = sys.argv[1:]
declared = set()
for header in headers:
    with open(header) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = set(re.findall(r"QSIM_API\s[^;(]*?\b(qsim_\w+)\(", text))
    if len(found) < 10:
        sys.exit(f"only {len(found)} functions found in {header}; this test reads it no more")
    declared |= found
listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1] for line in listed.splitlines()}
print(f"declared and not exported: {sorted(declared - exported)}")
print(f"exported and not declared: {sorted(exported - declared)}")
sys.exit(declared != exported)
