"""How the agent finds a place: it asks about one after the other, and drops those that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.closed_loop import shapes
from chaosagent.experiments.dojo.closed_loop.agent import Agent, GivesUp, Steps
from chaosagent.experiments.dojo.closed_loop.wishes import Kind, Tie, Wish


class Tools(NamedTuple):
    """The tools for a kind of place.

    Attributes:
        list: Names all in a city.
        given: The name of the others' argument, a list of names.
        rating: Tells ratings.
        price: Tells prices.
        needs: Tell what places have, by need.
        address: Tells addresses.
    """

    list: str
    given: str
    rating: str
    price: str
    needs: dict[str, str]
    address: str

    @property
    def all(self) -> tuple[str, ...]:
        """All of them."""
        return (self.list, self.rating, self.price, *self.needs.values(), self.address)


TOOLS: dict[Kind, Tools] = {
    "hotel": Tools(
        "get_all_hotels_in_city",
        "hotel_names",
        "get_rating_reviews_for_hotels",
        "get_hotels_prices",
        {},
        "get_hotels_address",
    ),
    "restaurant": Tools(
        "get_all_restaurants_in_city",
        "restaurant_names",
        "get_rating_reviews_for_restaurants",
        "get_price_for_restaurants",
        {
            "cuisine": "get_cuisine_type_for_restaurants",
            "diet": "get_dietary_restrictions_for_all_restaurants",
            "open": "check_restaurant_opening_hours",
        },
        "get_restaurants_address",
    ),
    "car": Tools(
        "get_all_car_rental_companies_in_city",
        "company_name",
        "get_rating_reviews_for_car_rental",
        "get_car_price_per_day",
        {"type": "get_car_types_available", "fuel": "get_car_fuel_options"},
        "get_car_rental_address",
    ),
}


@dataclass(slots=True)
class Place:
    """A place that was found.

    Attributes:
        wish: What it is for.
        name: Its name.
        rating: From 0 to 5.
        prices: Lowest and highest; `None` when not asked.
        address: Empty when not asked.
        hours: Empty when not asked.
    """

    wish: Wish
    name: str
    rating: float
    prices: tuple[float, float] | None = None
    address: str = ""
    hours: str = ""


def find(agent: Agent, wish: Wish, *, tie: Tie) -> Steps[Place]:
    """Return the best place that fits a wish.

    Raises:
        GivesUp: None fits.
    """
    tools = TOOLS[wish.kind]
    names: tuple[str, ...] = (wish.name,)
    if not wish.name:
        names = yield from agent.ask(tools.list, shapes.listed, city=wish.city)
    fitting: list[Place] = []
    for name in names:
        if name == wish.avoid or wish.avoid.startswith(f"{name} "):
            continue
        place = yield from _looked_at(agent, wish, name)
        if place is not None:
            fitting.append(place)
    if not fitting:
        raise GivesUp(f"No {wish.kind} in {wish.city or 'any city'} is as you want it.")
    best = max(place.rating for place in fitting)
    rated = [place for place in fitting if place.rating == best]
    if tie and len(rated) > 1:
        for place in rated:
            place.prices = place.prices or (yield from prices(agent, wish.kind, place.name))
        rated.sort(key=lambda place: place.prices or (0.0, 0.0), reverse=tie == "dear")
    return rated[0]


def prices(agent: Agent, kind: Kind, name: str) -> Steps[tuple[float, float]]:
    """Return the lowest and the highest price of a place."""
    tool = TOOLS[kind].price
    if kind == "hotel":
        return (yield from _told(agent, kind, tool, name, shapes.price_range))
    price = yield from _told(agent, kind, tool, name, shapes.number)
    return price, price


def address(agent: Agent, kind: Kind, name: str) -> Steps[str]:
    """Return where a place is."""
    tool = TOOLS[kind].address
    if kind == "hotel":
        return (yield from agent.ask(tool, shapes.of(name, shapes.text), hotel_name=name))
    return (yield from _told(agent, kind, tool, name, shapes.text))


def hours(agent: Agent, name: str) -> Steps[str]:
    """Return when a restaurant is open."""
    return (yield from _told(agent, "restaurant", "check_restaurant_opening_hours", name, shapes.text))


def _looked_at(agent: Agent, wish: Wish, name: str) -> Steps[Place | None]:
    """Return a place if it fits: cheap questions about what it has first, its rating last."""
    tools, found = TOOLS[wish.kind], None
    for need, wanted in wish.needs.items():
        told = yield from _told(agent, wish.kind, tools.needs[need], name, _words)
        if wanted.lower() not in told.lower() and not (need == "open" and "every day" in told):
            return None
    if wish.price_max is not None:
        found = yield from prices(agent, wish.kind, name)
        if found[1] > wish.price_max:
            return None
    rating = yield from _told(agent, wish.kind, tools.rating, name, shapes.rating)
    return Place(wish, name, rating, found)


def _told(agent: Agent, kind: Kind, tool: str, name: str, shape: Callable[[Plain], shapes.T]) -> Steps[shapes.T]:
    given: dict[str, Plain] = {TOOLS[kind].given: [name]}
    return (yield from agent.ask(tool, shapes.of(name, shape), **given))


def _words(answer: Plain) -> str:
    """Read a text, or a list of words as one."""
    return ", ".join(shapes.names(answer)) if isinstance(answer, list | tuple) else shapes.text(answer)
