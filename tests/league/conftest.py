"""Small networks are trained here too, on one thread."""

from tests.learn.conftest import one_thread as one_thread
