package policy

// HasObjectSelector reports whether the labels of objects decide which ones match.
func (m Match) HasObjectSelector() bool { return m.objects != nil }

// HasNamespaceSelector reports whether the labels of namespaces decide which objects match.
func (m Match) HasNamespaceSelector() bool { return m.namespaces != nil }
