"""Pictures: what is drawn is what was computed."""

import numpy as np
import pytest

from negzoo.analysis.concession import concession
from negzoo.analysis.plots import concession_curves, utility_heatmaps
from negzoo.analysis.tournament import Crosstable
from negzoo.opponents import resolve
from negzoo.scenario import load

LAPTOP = load("laptop")


def curves_of(*names):
    return [concession(name, resolve(name), LAPTOP, games=10) for name in names]


def lines_of(figure):
    return figure.axes[0].get_lines()


def table(players):
    utility = np.linspace(0, 1, 2 * players * players).reshape(2, players, players)
    labels = tuple(f"player {number}" for number in range(players))
    return Crosstable("laptop", ("buyer", "seller"), labels, utility, np.ones((players, players)))


def test_a_curve_is_the_mean_utility_over_time():
    (curve,) = curves_of("TitForTat1")
    figure = concession_curves([curve])
    drawn = next(line for line in lines_of(figure) if line.get_label() == "TitForTat1")
    assert drawn.get_xdata().tolist() == curve.time.tolist()
    assert drawn.get_ydata().tolist() == curve.mean.tolist()
    assert not figure.axes[0].collections


def test_a_curve_is_dashed_from_where_its_owner_would_accept():
    (curve,) = curves_of("Linear")
    turn = curve.accept_turn - 1
    solid, dashed, mark = lines_of(concession_curves([curve]))[1:]
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert solid.get_xdata()[-1] == dashed.get_xdata()[0] == mark.get_xdata()[0] == curve.time[turn]
    assert mark.get_ydata()[0] == curve.mean[turn]


def test_a_random_strategys_band_is_shaded():
    assert len(concession_curves(curves_of("Random", "Linear")).axes[0].collections) == 1


def test_curves_look_different_and_are_named():
    names = ["Boulware1", "Boulware2", "Boulware3", "Linear", "Conceder1", "Conceder2", "Conceder3", "TitForTat1"]
    figure = concession_curves(curves_of(*names))
    shown = [line for line in lines_of(figure) if line.get_label() in names]
    assert [line.get_label() for line in shown] == names
    assert len({(line.get_color(), line.get_marker()) for line in shown}) == len(names)


def test_a_heat_map_for_each_profile_of_each_table():
    tables = [table(2), table(2)]
    figure = utility_heatmaps(tables)
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == ["laptop: utility of buyer", "laptop: utility of seller"] * 2
    for axes, utility in zip(panels, [*tables[0].utility, *tables[1].utility], strict=True):
        (image,) = axes.images
        assert np.array_equal(image.get_array(), utility)
        assert image.get_clim() == (0, 1)
        assert [text.get_text() for text in axes.texts] == [f"{value:.2f}" for value in utility.ravel()]


@pytest.mark.parametrize(("players", "written"), [(20, 400), (21, 0)])
def test_figures_are_written_in_where_they_can_be_read(players, written):
    assert len(utility_heatmaps([table(players)]).axes[0].texts) == written
