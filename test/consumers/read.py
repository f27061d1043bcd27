"""What other people's readers see in a file of `bench report`, as JSON: read.py junit|openmetrics|bmf FILE"""

import json
import pathlib
import sys


def junit(path):
    import junitparser

    suites = junitparser.JUnitXml.fromfile(path)
    cases = [case for suite in suites for case in suite]
    return {
        "tests": suites.tests,
        "failures": suites.failures,
        "errors": suites.errors,
        "skipped": suites.skipped,
        "names": [case.name for case in cases],
        "results": [[type(result).__name__ for result in case.result] for case in cases],
        "messages": [[result.message for result in case.result] for case in cases],
    }


def openmetrics(path):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    families = text_string_to_metric_families(pathlib.Path(path).read_text(encoding="utf-8"))
    return {
        family.name: {
            "type": family.type,
            "unit": family.unit,
            "samples": [[sample.labels, sample.value] for sample in family.samples],
        }
        for family in families
    }


def bmf(path):
    import jsonschema

    schema = json.loads((pathlib.Path(__file__).parent / "bmf.schema.json").read_text())
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(document)
    return document


print(json.dumps({"junit": junit, "openmetrics": openmetrics, "bmf": bmf}[sys.argv[1]](sys.argv[2])))
