"""Small networks gain nothing from threads, and lose much to them where cores are shared."""

from collections.abc import Iterator

import pytest

from negzoo.learn import generators


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with generators.one_thread():
        yield
