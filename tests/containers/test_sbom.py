"""The bill of materials, made from the copy of a real image, has what the image's unpacked files have."""

import json

from plimsoll import __main__
from plimsoll.images import contents


def test_a_bill_of_materials_has_what_the_image_holds(image, tmp_path):
    described, written = tmp_path / "hpcc.json", tmp_path / "hpcc.sbom.json"
    described.write_text(json.dumps(image))
    assert __main__.main(["sbom", "--image", str(described), "--output", str(written)]) == 0
    bill = json.loads(written.read_text())
    assert bill["metadata"]["component"]["hashes"][0]["content"] == image["id"].removeprefix("sha256:")
    with open(f"{image['rootfs']}/{contents.STATUS}") as file:
        status = [fields for fields in contents.paragraphs(file.read()) if "installed" in fields.get("Status", "").split()]
    packages = {one["name"]: one["version"] for one in bill["components"] if one.get("purl", "").startswith("pkg:deb/")}
    assert packages == {fields["Package"]: fields["Version"] for fields in status} and "openmpi-bin" in packages
    checksums = {one["name"]: one["hashes"][0]["content"] for one in bill["components"] if one["type"] == "file"}
    assert checksums["/opt/plimsoll/bin/hpcc"] == image["files"]["opt/plimsoll/bin/hpcc"]["sha256"]
    assert {"HPC Challenge", "debian"} <= {one["name"] for one in bill["components"]}
    (blas,) = (one for one in bill["components"] if one["name"] == "OpenBLAS")
    assert image["versions"]["BLAS"] == f"OpenBLAS {blas['version']}"
    assert blas["evidence"]["occurrences"][0]["location"] == "/opt/plimsoll/lib/libopenblas.so.0"
