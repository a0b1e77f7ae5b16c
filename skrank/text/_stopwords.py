"""Function words of English, which do not tell what a text is about."""

_WORDS = """
a about above after again all also am an and any are as at be because been before
being below between both but by can could did do does doing down during each either
for from further had has have having he her here hers him his how however i if in
into is it its itself just me more most my no nor not now of off on once only or
other our out over own same she should so some such than that the their them then
there these they this those through to too under until up upon us very was we were
what when where which while who whom why will with would you your
"""

ENGLISH_STOP_WORDS: frozenset[str] = frozenset(_WORDS.split())
