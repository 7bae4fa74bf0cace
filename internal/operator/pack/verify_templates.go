package pack

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/internal/operator/render"
)

// templateFiles checks the syntax of the templates and the parameters they refer to.
func (v *verifier) templateFiles() {
	for _, name := range slices.Sorted(maps.Keys(v.Templates)) {
		path := templatesFolder + "/" + name
		if !v.templates[name] && v.Operator.NamespaceManifest != name {
			v.findings.warn(path, "no task uses this template")
		}
		refs, err := v.References(name)
		if err != nil {
			v.findings.fail(templatesFolder, err.Error())
			continue
		}
		v.dynamic = v.dynamic || refs.All
		for _, parameter := range refs.Names {
			v.used[parameter] = true
			if !v.defined(parameter) {
				v.findings.fail(path, v.noParameter(parameter))
			}
		}
	}
}

// References returns the parameters that a template of the package uses.
func (p *Package) References(template string) (render.References, error) {
	return render.ReferencesIn(template, p.Templates[template])
}
