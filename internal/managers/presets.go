package managers

// Preset is a selection that a tool expects when it starts to apply objects under its manager.
type Preset struct {
	Name string
	// Tool limits the objects to those that the tool applies. Without one, the objects of all tools move.
	Tool *Tool
	From []Writer
	To   Writer
	// Help says what moves, and what the tool does then.
	Help string
}

// Presets returns the presets, in the order in which they are shown.
func Presets() []Preset {
	clientSide := []Writer{{ClientSideApply, update}, {BeforeFirstApply, update}}
	of := func(name, tool, help string, from ...Writer) Preset {
		for _, known := range Tools() {
			if known.Name == tool {
				return Preset{Name: name, Tool: &known, From: append(from, known.Earlier...), To: known.Writer, Help: help}
			}
		}
		return Preset{}
	}
	return []Preset{
		{
			Name: "csa-to-ssa", From: clientSide, To: Writer{"kubectl", apply},
			Help: `from kubectl apply to "kubectl apply --server-side". It moves what client-go's csaupgrade moves, also in objects that
no apply has reached since. --to chooses another manager.`,
		},
		of("argocd", "Argo CD", `to Argo CD with ServerSideApply=true. Its option ClientSideApplyMigration moves the fields of
kubectl-client-side-apply too, but not those that Argo CD itself wrote with client-side apply.`, clientSide...),
		of("flux", "Flux", `to Flux's kustomize-controller, which takes the fields of every kubectl command and of its own writes
before server-side apply, and removes the last-applied configuration.`,
			Writer{"kubectl*", apply}, Writer{"kubectl*", update}, Writer{BeforeFirstApply, update}),
		of("helm", "Helm", `to Helm 4, which applies with server-side apply. Helm moves its own fields only in the upgrade that changes
the method of a release, and never those of kubectl apply.`, clientSide...),
		of("kapp", "kapp", `to kapp, which updates objects: its fields become those of an update. kapp decides by its annotation
kapp.k14s.io/original what to remove, and the command leaves that annotation as it is.`, clientSide...),
	}
}
