package immutability

// Exception allows some changes that a rule forbids.
type Exception struct {
	// Name says in a few words when the exception applies. It is shown in hints.
	Name string
	// Allows reports whether a change is allowed. It is called once for each value
	// under the rule that has violations. It must not change its argument and must
	// be safe for concurrent use.
	Allows func(Change) bool
}

// Change is an update as it is given to an exception.
type Change struct {
	// OldObject and NewObject are the whole objects.
	OldObject, NewObject map[string]any
	// Old and New are the values at the path of the rule, nil if absent or null.
	Old, New any
}
