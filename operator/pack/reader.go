package pack

import (
	"fmt"
	"path"
	"strings"

	"holdfast.dev/holdfast/operator/api"
)

// reader reads each package among some files once, however many bring it along.
type reader struct {
	files Files
	// read are the packages by their folders, nil for those that cannot be read.
	read  map[string]*Package
	wrong []error
}

// parse reads the package in a folder and those that it brings along.
func (r *reader) parse(folder string) *Package {
	if known, again := r.read[folder]; again {
		return known
	}
	r.read[folder] = nil
	p := &Package{Templates: map[string]string{}}
	own := r.files.own(folder)
	err := p.parseOperator(own[OperatorFileName])
	if err == nil {
		err = p.parseParams(own[ParamsFileName])
	}
	if err != nil {
		if folder != "." {
			err = fmt.Errorf("%s/%w", folder, err)
		}
		r.wrong = append(r.wrong, err)
		return nil
	}
	for _, name := range own.names() {
		if template, found := strings.CutPrefix(name, templatesFolder+"/"); found {
			p.Templates[template] = string(own[name])
		}
	}
	r.read[folder] = p
	r.bundled(p, folder)
	return p
}

// bundled reads the packages that one brings along. One that is not there is for
// Verify to say.
func (r *reader) bundled(p *Package, folder string) {
	for _, task := range p.Operator.Tasks {
		name := task.Spec.Package
		inner, err := folderOf(name)
		if task.Kind != api.KudoOperatorTask || err != nil || inner == "" {
			continue
		}
		inner = path.Join(folder, inner)
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
