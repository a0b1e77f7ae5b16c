"""Lists of the words that say little about what a text is about.

They are selections of our own, made by the classes of words that grammars call function
words. Published lists of the kind are those of SMART (571 words) and INQUERY (418).
"""

from collections.abc import Mapping
from types import MappingProxyType

_WORDS = """
a about above after again all also am an and any are as at be because been before
being below between both but by can could did do does doing down during each either
for from further had has have having he her here hers him his how however i if in
into is it its itself just me more most my no nor not now of off on once only or
other our out over own same she should so some such than that the their them then
there these they this those through to too under until up upon us very was we were
what when where which while who whom why will with would you your
"""

# Articles, pointing words, short prepositions, conjunctions and forms of "to be".
_SHORT = """
a an the it its that these this those about as at by for from in into of off on out over
to under up with and but if nor or so than am are be been being is was were
"""

_ARTICLES_AND_QUANTITIES = """
a all an another any both each either enough every few fewer half least less lots many
more most much neither no none one ones other others plenty same several some such that
the these this those various whole
"""
_PRONOUNS = """
anybody anyone anything each everybody everyone everything he her hers herself him
himself his i it its itself me mine my myself nobody nothing oneself our ours ourselves
she somebody someone something their theirs them themselves they thou thy us we what
whatever which whichever who whoever whom whomever whose you your yours yourself
yourselves
"""
_PREPOSITIONS = """
aboard about above across after against along alongside amid amidst among amongst around
as at atop before behind below beneath beside besides between beyond by concerning
despite down during except excepting following for from in inside into like near of off
on onto opposite out outside over past per regarding round since than through throughout
till to toward towards under underneath unlike until unto up upon versus via with within
without
"""
_CONJUNCTIONS = """
albeit although and because but either if lest neither nor once only or provided
providing since so than that though till unless until when whenever where whereas
whereby wherein whereupon wherever whether while whilst why yet
"""
_VERBS = """
am are aren be became become becomes becoming been being can cannot could couldn did
didn do does doesn doing don done get gets getting go goes going gone got had hadn has
hasn have haven having is isn let ll made make makes making may might mightn must mustn
need needn needs ought oughtn re s seem seemed seeming seems shall shan should shouldn t
took take taken takes taking use used uses using ve was wasn were weren will won would
wouldn
"""
_ADVERBS = """
accordingly actually afterwards again ago alone almost already also altogether always
anyhow anyway anywhere apart aside away back certainly consequently currently else
elsewhere especially etc even eventually ever everywhere far forth forward further
furthermore generally hardly hence here hereafter hereby herein hither how however
indeed instead just largely lately later latter mainly maybe meanwhile merely mostly
moreover
namely nearly nevertheless never nonetheless not notably now nowhere often otherwise
partly perhaps possibly presently previously probably quite rather really recently
respectively roughly simply somehow sometime sometimes somewhat somewhere soon still
subsequently then thence there thereafter thereby therefore therein thereof thereupon
thus together too usually very well whence whither wholly
"""

#: The 119 words of the list ``"english"``.
ENGLISH_STOP_WORDS: frozenset[str] = frozenset(_WORDS.split())

_LISTS = {
    "english-short": frozenset(_SHORT.split()),
    "english": ENGLISH_STOP_WORDS,
    "english-long": ENGLISH_STOP_WORDS.union(
        _ARTICLES_AND_QUANTITIES.split(),
        _PRONOUNS.split(),
        _PREPOSITIONS.split(),
        _CONJUNCTIONS.split(),
        _VERBS.split(),
        _ADVERBS.split(),
    ),
}

#: Stop lists by name, each within the next: ``"english-short"`` (41 words),
#: ``"english"`` (119) and ``"english-long"`` (385).
STOP_LISTS: Mapping[str, frozenset[str]] = MappingProxyType(_LISTS)
