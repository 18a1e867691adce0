#!/usr/bin/env python3
"""Every message that the sources can throw stands in docs/reference/errors.md.

usage: errors_test.py REPOSITORY_ROOT
A site's literal pieces must stand in one row, in their order. (That each row is real, and is met by
a test with its exit code, is checked after the tests: provoked.py.)
"""
import sys

import cpp_messages
import errors_page



def main():
    root = sys.argv[1]
    rows = errors_page.rows(root)
    sites = list(cpp_messages.sites(root))
    missing = [site for site in sites if not any(site.is_in(row.text) for row in rows)]
    for site in missing:
        print(f"{site.where}: not in {errors_page.PAGE}: {site.pattern}")
    seen = {}
    for row in rows:
        if row.text in seen:
            print(f"{row.where}: stands in {seen[row.text]} as well")
            missing.append(row)
        seen[row.text] = row.where
    if len(sites) < 250:
        print(f"only {len(sites)} throwing calls found; cpp_messages.py reads the sources no more")
        missing.append(None)
    print(f"{len(sites)} throwing calls, {len(rows)} documented messages, {len(missing)} faults")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
