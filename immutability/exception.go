package immutability

// Exception lets some changes through that a rule forbids.
type Exception struct {
	// Name says in a few words when the exception applies, for messages.
	Name string
	// Allows judges a change. It is asked once for each value under the rule
	// that has violations, must not change what it is given, and must be safe
	// for concurrent use.
	Allows func(Change) bool
}

// Change is an update as an exception sees it.
type Change struct {
	// OldObject and NewObject are the whole objects.
	OldObject, NewObject map[string]any
	// Old and New are the values at the path of the rule; nil is absent or null.
	Old, New any
}
