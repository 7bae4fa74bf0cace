package pack

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"holdfast.dev/holdfast/operator/api"
)

// maxDepth is how many packages may be in one another.
const maxDepth = 8

// IsURL says whether a package is named by where it is on the network.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// folderOf is the folder that a task means by the name of a package, "" if it is
// the name of one that is elsewhere. A folder is written as ./zookeeper and is
// inside of the package, so that it is still there in a .tgz.
func folderOf(name string) (string, error) {
	if IsURL(name) || !strings.ContainsAny(name, `/\`) && name != "." && name != ".." {
		return "", nil
	}
	folder := path.Clean(name)
	switch {
	case path.IsAbs(name) || strings.Contains(name, `\`) || folder == ".." || strings.HasPrefix(folder, "../"):
		return "", fmt.Errorf("%q leads out of the package", name)
	case folder == ".":
		return "", fmt.Errorf("%q is the package itself", name)
	case folder == templatesFolder || strings.HasPrefix(folder, templatesFolder+"/"):
		return "", fmt.Errorf("%q is among the templates", name)
	}
	return folder, nil
}

// bundledIn are the folders of the packages that the one in a folder brings along.
// One that cannot be read brings none: whoever parses it says why.
func (f Files) bundledIn(folder string) []string {
	text, found := f[path.Join(folder, OperatorFileName)]
	if !found {
		return nil
	}
	p := &Package{}
	if p.parseOperator(text) != nil {
		return nil
	}
	var folders []string
	for _, task := range p.Operator.Tasks {
		if task.Kind != api.KudoOperatorTask {
			continue
		}
		if inner, err := folderOf(task.Spec.Package); err == nil && inner != "" {
			folders = append(folders, path.Join(folder, inner))
		}
	}
	return folders
}

// packages visits the folder of every package that the files may hold, "." first:
// each brings along others once it was visited.
func (f Files) packages(visit func(folder string) error) error {
	seen := map[string]bool{".": true}
	level := []string{"."}
	for range maxDepth {
		var next []string
		for _, folder := range level {
			if err := visit(folder); err != nil {
				return err
			}
			for _, inner := range f.bundledIn(folder) {
				if !seen[inner] {
					seen[inner] = true
					next = append(next, inner)
				}
			}
		}
		level = next
	}
	if len(level) > 0 {
		return fmt.Errorf("%s: packages are more than %d deep in one another", level[0], maxDepth)
	}
	return nil
}

// own are the files of the package in a folder, without those that it brings
// along.
func (f Files) own(folder string) Files {
	files := Files{}
	for name, text := range f {
		inner, inside := name, true
		if folder != "." {
			inner, inside = strings.CutPrefix(name, folder+"/")
		}
		if inside && belongs(inner) {
			files[inner] = text
		}
	}
	return files
}

// needed are the files without those that no package among them has.
func (f Files) needed() (Files, error) {
	files := Files{}
	err := f.packages(func(folder string) error {
		for name, text := range f.own(folder) {
			files[path.Join(folder, name)] = text
		}
		return nil
	})
	return files, err
}

// All are the package, in the folder ".", and those that it brings along, each once
// and with its folder.
func (p *Package) All() iter.Seq2[string, *Package] {
	return func(yield func(string, *Package) bool) {
		p.each(".", map[*Package]bool{}, yield)
	}
}

func (p *Package) each(folder string, seen map[*Package]bool, yield func(string, *Package) bool) bool {
	if seen[p] {
		return true
	}
	seen[p] = true
	if !yield(folder, p) {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(p.Bundled)) {
		if !p.Bundled[name].each(path.Join(folder, name), seen, yield) {
			return false
		}
	}
	return true
}

// tasks are those of the package, where the packages that it brings along have
// the names that they have on a server.
func (p *Package) tasks() []api.Task {
	tasks := make([]api.Task, len(p.Operator.Tasks))
	for i, task := range p.Operator.Tasks {
		if bundled := p.Bundled[task.Spec.Package]; bundled != nil && task.Kind == api.KudoOperatorTask {
			task.Spec = bundled.Depended(task.Spec)
		}
		tasks[i] = task
	}
	if len(tasks) == 0 {
		return nil
	}
	return tasks
}

// Depended is what a task says that depends on exactly this package.
func (p *Package) Depended(spec api.TaskSpec) api.TaskSpec {
	spec.Package, spec.OperatorVersion, spec.AppVersion = p.Operator.Name, p.Operator.OperatorVersion, p.Operator.AppVersion
	return spec
}
