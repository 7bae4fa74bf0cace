package pack

import (
	"fmt"
	"path"
	"strings"

	"holdfast.dev/holdfast/api"
)

// reader decodes the packages among some files, each once, even if several packages
// bundle it.
type reader struct {
	files Files
	// parsed holds the packages by folder, nil for those that cannot be decoded.
	parsed map[string]*Package
	errs   []error
}

// parse decodes the package in a folder and those bundled with it. It returns nil if the
// package cannot be decoded, and adds the error to errs.
func (r *reader) parse(folder string) *Package {
	if known, again := r.parsed[folder]; again {
		return known
	}
	r.parsed[folder] = nil
	p := &Package{Templates: map[string]string{}}
	own := r.files.ofPackage(folder)
	err := p.parseOperator(own[OperatorFileName])
	if err == nil {
		err = p.parseParams(own[ParamsFileName])
	}
	if err != nil {
		if folder != "." {
			err = fmt.Errorf("%s/%w", folder, err)
		}
		r.errs = append(r.errs, err)
		return nil
	}
	for _, name := range own.names() {
		if template, found := strings.CutPrefix(name, templatesFolder+"/"); found {
			p.Templates[template] = string(own[name])
		}
	}
	r.parsed[folder] = p
	r.bundled(p, folder)
	return p
}

// bundled decodes the packages bundled with one. It skips a missing one; Verify reports
// it.
func (r *reader) bundled(p *Package, folder string) {
	for _, task := range p.Operator.Tasks {
		name := task.Spec.Package
		inner, err := folderOf(name)
		if task.Kind != api.KudoOperatorTask || err != nil || inner == "" {
			continue
		}
		inner = folderIn(folder, inner)
		if _, found := r.files[path.Join(inner, OperatorFileName)]; !found {
			continue
		}
		if bundled := r.parse(inner); bundled != nil {
			if p.Bundled == nil {
				p.Bundled = map[string]*Package{}
			}
			p.Bundled[name] = bundled
		}
	}
}
