"""Sample inputs for scripts of public collections whose usage does not say all that they need.

Each entry is what a user would type after the script's path, for a script with this name. The files are written into the
project folder by `write`.
"""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

# The words for a script, by the end of its path; and options of `skillwire run` that go with them.
WORDS: dict[str, tuple[list[str], list[str]]] = {
    "check_bounding_boxes.py": (["fields.json"], []),
    "extract_form_field_info.py": (["form.pdf", "out.json"], []),
    "extract_form_structure.py": (["form.pdf", "out.json"], []),
    "fill_fillable_fields.py": (["form.pdf", "values.json", "out.pdf"], []),
    "fill_pdf_form_with_annotations.py": (["form.pdf", "fields.json", "out.pdf"], []),
    "create_validation_image.py": (["1", "fields.json", "sample.png", "out.png"], []),
    "convert_pdf_to_images.py": (["sample.pdf", "."], []),
    "replace.py": (["sample.pptx", "replacements.json", "out.pptx"], []),
    "thumbnail.py": (["sample.pptx"], []),
    "add_slide.py": (["deck", "slideLayout2.xml"], [
        "--input", "deck", "--edit", "deck/[Content_Types].xml", "--edit", "deck/ppt/_rels/presentation.xml.rels"]),
    "accept_changes.py": (["sample.docx", "out.docx"], []),
    "office/soffice.py": (["--headless", "--convert-to", "pdf", "sample.pptx"], []),
    "bundle-artifact.sh": ([], ["--input", "web:."]),
    "check_mcp.sh": ([], []),
    "burp-search.sh": (["sample.burp", "auditItems"], []),
    "inventory.py": (["sample.pptx", "out.json"], []),
    "rearrange.py": (["sample.pptx", "out.pptx", "0,0"], []),
    "office/unpack.py": (["sample.docx", "unpacked"], []),
    "office/pack.py": (["document", "out.docx"], ["--input", "document"]),
    "ooxml/scripts/pack.py": (["document", "out.docx"], ["--input", "document"]),
    "sarif_helpers.py": (["sample.sarif"], []),
    "merge_sarif.py": (["raw", "out.sarif"], ["--input", "raw"]),
    "analyze_asm.sh": (["--asm", "sample.s", "--out", "out.json"], []),
    "analyze_heap.sh": (["--src", "sample.c", "--out", "out.json"], []),
    "track_dataflow.sh": (["--src", "sample.c", "--out", "out.json"], []),
    "emit_asm.sh": (["--src", "sample.c", "--out", "out.s", "--cc", "gcc"], []),
    "emit_ir.sh": (["--src", "sample.c", "--out", "out.ll"], []),
    "diff_rust_mir.sh": (["before.mir", "after.mir"], []),
    "generate_suite.sh": (["important-only"], []),
    "init_skill.py": (["my-skill", "--path", "."], []),
    "quick_validate.py": (["folder"], ["--input", "folder"]),
    "package_skill.py": (["folder", "."], ["--input", "folder"]),
    "find-polluter.sh": (["made-by-a-test", "*.test.js"], []),
    "render-graphs.js": (["folder"], ["--input", "folder"]),
    "draw_cards.py": ([], []),
}

TEXTS = {
    "fields.json": json.dumps({
        "pages": [{"page_number": 1, "image_width": 64, "image_height": 64,
                   "pdf_width": 64, "pdf_height": 64}],
        "form_fields": [{
            "page_number": 1, "description": "Name", "field_label": "Name",
            "label_bounding_box": [1, 1, 10, 10], "entry_bounding_box": [12, 1, 60, 16],
            "entry_text": {"text": "Ana", "font_size": 8}}],
    }),
    "replacements.json": json.dumps({"slide-0": {"shape-0": {"paragraphs": [{"text": "Title"}]}}}),
    "sample.burp": "",
    "values.json": json.dumps([{"field_id": "name", "page": 1, "value": "Ana", "description": "Name"}]),
    "sample.sarif": json.dumps({"version": "2.1.0", "runs": [{
        "tool": {"driver": {"name": "sample", "rules": []}},
        "results": [{"ruleId": "r", "level": "error", "message": {"text": "x"}, "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": {"startLine": 1}}}]}],
    }]}),
    "sample.s": ".globl f\nf:\n push %rbp\n ret\n",
    "sample.c": "#include <stdlib.h>\n#include <string.h>\nint f(void) {\n  char *secret_key = malloc(32);\n"
                "  memset(secret_key, 1, 32);\n  free(secret_key);\n  return 0;\n}\n",
    "before.mir": "fn main() -> () {\n}\n",
    "after.mir": "fn main() -> () {\n}\n",
}

FORM = """
import sys
from pypdf import PdfWriter
from pypdf.generic import (ArrayObject, DictionaryObject, FloatObject, NameObject, NumberObject, TextStringObject)
writer = PdfWriter()
page = writer.add_blank_page(200, 200)
name, text = NameObject, TextStringObject
field = writer._add_object(DictionaryObject({
    name("/FT"): name("/Tx"), name("/T"): text("name"), name("/Type"): name("/Annot"),
    name("/Subtype"): name("/Widget"), name("/F"): NumberObject(4), name("/V"): text(""),
    name("/Rect"): ArrayObject([FloatObject(n) for n in (10, 10, 100, 30)]),
    name("/DA"): text("/Helv 10 Tf 0 g"), name("/P"): page.indirect_reference}))
page[name("/Annots")] = ArrayObject([field])
font = writer._add_object(DictionaryObject({
    name("/Type"): name("/Font"), name("/Subtype"): name("/Type1"), name("/BaseFont"): name("/Helvetica")}))
fonts = DictionaryObject({name("/Font"): DictionaryObject({name("/Helv"): font})})
writer._root_object[name("/AcroForm")] = DictionaryObject({
    name("/Fields"): ArrayObject([field]), name("/DA"): text("/Helv 10 Tf 0 g"), name("/DR"): fonts})
writer.write(sys.argv[1])
"""


def write(project: Path, python: Path) -> None:
    """Writes the samples; those that need a package are left out where it is missing."""
    for name, text in TEXTS.items():
        (project / name).write_text(text)
    (project / "raw").mkdir(exist_ok=True)
    (project / "raw/a.sarif").write_text(TEXTS["sample.sarif"])
    subprocess.run([python, "-c", FORM, project / "form.pdf"], check=False, capture_output=True)
    (project / "web").mkdir(exist_ok=True)
    (project / "web/package.json").write_text(json.dumps({"name": "web", "version": "1.0.0", "private": True}))
    (project / "web/index.html").write_text("<!doctype html><title>Web</title><p>text</p>\n")
    for name, folder in (("sample.docx", "document"), ("sample.pptx", "deck")):
        if (project / name).exists():
            zipfile.ZipFile(project / name).extractall(project / folder)


def words_for(script: str) -> tuple[list[str], list[str]] | None:
    """The words and options for a script, by the end of its path."""
    ends = (end for end in WORDS if script == end or script.endswith("/" + end))
    best = max(ends, key=len, default=None)
    return WORDS[best] if best else None
