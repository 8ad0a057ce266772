"""What AgentDojo does not say of its tools: which change nothing, and how to see whether a write took place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaosagent.canonical import Plain

READ_ONLY = frozenset(
    {
        # banking
        "get_balance", "get_iban", "get_most_recent_transactions", "get_scheduled_transactions", "get_user_info",
        "read_file",
        # slack; get_webpage is none: the web server counts requests, and some checks look at its count
        "get_channels", "get_users_in_channel", "read_channel_messages", "read_inbox",
        # workspace; get_unread_emails is none: it marks them as read
        "get_current_day", "get_day_calendar_events", "get_draft_emails", "get_file_by_id", "get_received_emails",
        "get_sent_emails", "list_files", "search_calendar_events", "search_contacts_by_email",
        "search_contacts_by_name", "search_emails", "search_files", "search_files_by_filename",
        # travel
        "check_restaurant_opening_hours", "get_all_car_rental_companies_in_city", "get_all_hotels_in_city",
        "get_all_restaurants_in_city", "get_car_fuel_options", "get_car_price_per_day", "get_car_rental_address",
        "get_car_types_available", "get_contact_information_for_restaurants", "get_cuisine_type_for_restaurants",
        "get_dietary_restrictions_for_all_restaurants", "get_flight_information", "get_hotels_address",
        "get_hotels_prices", "get_price_for_restaurants", "get_rating_reviews_for_car_rental",
        "get_rating_reviews_for_hotels", "get_rating_reviews_for_restaurants", "get_restaurants_address",
        "get_user_information",
    }
)  # fmt: skip

# These change what some check looks at, and nothing that anybody would miss.
HARMLESS = frozenset({"get_unread_emails", "get_webpage"})


def writes(tool: str) -> bool:
    """Return whether a tool changes what somebody would miss."""
    return tool not in READ_ONLY and tool not in HARMLESS


# Parts of an environment that only count what was asked: doing something again changes nothing of substance there.
LOGS = {"web": {"web_requests"}}

# Parts of an environment that say nothing new: what it was at the start, and what is computed from the rest.
DERIVED = {
    "inbox": {"initial_emails", "received", "sent", "drafts"},
    "calendar": {"initial_events"},
    "cloud_drive": {"initial_files"},
}


@dataclass(frozen=True, slots=True)
class Look:
    """How to see whether a write took place.

    Attributes:
        tool: What is asked.
        given: Arguments of that question which are arguments of the write, by name: `{"channel": "channel"}`.
        fixed: Its other arguments.
        shows: What a record of the answer has to equal, by its field: the name of the write's argument. Answers that
            are no records have the field `""`. Arguments that the write leaves out are not compared.
    """

    tool: str
    given: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Plain] = field(default_factory=dict)
    shows: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, written: Mapping[str, Plain]) -> dict[str, Plain]:
        """Return the arguments of the question about a write."""
        return {**self.fixed, **{name: written[source] for name, source in self.given.items()}}

    def finds(self, written: Mapping[str, Plain], answer: Plain) -> bool:
        """Return whether an answer shows the write."""
        records = answer if isinstance(answer, list | tuple) else [answer]
        return any(self._equals(record if isinstance(record, Mapping) else {"": record}, written) for record in records)

    def _equals(self, record: Mapping[str, Plain], written: Mapping[str, Plain]) -> bool:
        compared = [(record.get(name), written[source]) for name, source in self.shows.items() if source in written]
        return bool(compared) and all(one == other for one, other in compared)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


LOOKS: Mapping[str, Look] = {
    "send_money": Look(
        "get_most_recent_transactions", fixed={"n": 100}, shows=_same("recipient", "amount", "subject", "date")
    ),
    "schedule_transaction": Look(
        "get_scheduled_transactions", shows=_same("recipient", "amount", "subject", "date", "recurring")
    ),
    "update_scheduled_transaction": Look(
        "get_scheduled_transactions", shows=_same("id", "recipient", "amount", "subject", "date", "recurring")
    ),
    "update_user_info": Look("get_user_info", shows=_same("first_name", "last_name", "street", "city")),
    "send_direct_message": Look("read_inbox", given={"user": "recipient"}, shows=_same("recipient", "body")),
    "send_channel_message": Look("read_channel_messages", given=_same("channel"), shows=_same("body")),
    "add_user_to_channel": Look("get_users_in_channel", given=_same("channel"), shows={"": "user"}),
    "post_webpage": Look("get_webpage", given=_same("url"), shows={"": "content"}),
    "send_email": Look("get_sent_emails", shows=_same("recipients", "subject", "body")),
    "create_calendar_event": Look("search_calendar_events", given={"query": "title"}, shows=_same("title", "location")),
    "create_file": Look("search_files_by_filename", given=_same("filename"), shows=_same("filename", "content")),
}

# Doing these again changes nothing more.
REPEATABLE = frozenset({"reserve_car_rental", "reserve_hotel", "reserve_restaurant", "share_file", "update_password"})

# Words of the refusal with which a tool says that the work was done before.
DONE_BEFORE: Mapping[str, str] = {
    "delete_email": "not found",
    "delete_file": "not found",
    "invite_user_to_slack": "already in the users list",
    "remove_user_from_slack": "not found in the users list",
}
