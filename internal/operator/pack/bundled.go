package pack

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"holdfast.dev/holdfast/api"
)

// maxDepth is the number of levels to which packages may bundle each other.
const maxDepth = 8

// IsURL reports whether the name of a package is an HTTP or HTTPS URL.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// folderOf returns the folder that the package name of a task refers to, relative to the
// folder of the package, "" if the name is not a folder but a URL or the name of a package in
// a repository. A folder is written as ./zookeeper or ../zookeeper.
func folderOf(name string) (string, error) {
	if IsURL(name) || !strings.ContainsAny(name, `/\`) && name != "." && name != ".." {
		return "", nil
	}
	folder := path.Clean(name)
	switch {
	case path.IsAbs(name) || strings.Contains(name, `\`):
		return "", fmt.Errorf("%q is not a path relative to the package", name)
	case path.Base(folder) == "..":
		return "", fmt.Errorf("%q contains the package", name)
	case folder == ".":
		return "", fmt.Errorf("%q is the package itself", name)
	case folder == templatesFolder || strings.HasPrefix(folder, templatesFolder+"/"):
		return "", fmt.Errorf("%q is among the templates", name)
	}
	return folder, nil
}

// folderIn returns the folder of a package among the files, for a relative folder that the
// package in folder from refers to. As in KUDO, no path leads out of the files: in the package
// at the top, ../zookeeper is the same as ./zookeeper.
func folderIn(from, relative string) string {
	return cmp.Or(strings.TrimPrefix(path.Join("/", from, relative), "/"), ".")
}

// needed returns the folders that the tasks of the package in a folder refer to, relative to
// that package. It returns none if the package cannot be decoded; Parse reports the error.
func (f Files) needed(folder string) []string {
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
			folders = append(folders, inner)
		}
	}
	return folders
}

// visitPackages calls visit for the folder of each package, "." first. It looks for
// bundled packages after each visit, so visit may add the files of the package.
func (f Files) visitPackages(visit func(folder string) error) error {
	seen := map[string]bool{".": true}
	level := []string{"."}
	for range maxDepth {
		var next []string
		for _, folder := range level {
			if err := visit(folder); err != nil {
				return err
			}
			for _, relative := range f.needed(folder) {
				if inner := folderIn(folder, relative); !seen[inner] {
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

// ofPackage returns the files of the package in a folder, by their path in that package,
// without those of the packages bundled with it.
func (f Files) ofPackage(folder string) Files {
	files := Files{}
	for name, text := range f {
		inner, inside := name, true
		if folder != "." {
			inner, inside = strings.CutPrefix(name, folder+"/")
		}
		if inside && isPackageFile(inner) {
			files[inner] = text
		}
	}
	return files
}

// withoutUnused returns the files that belong to the package or to a bundled one.
func (f Files) withoutUnused() (Files, error) {
	files := Files{}
	err := f.visitPackages(func(folder string) error {
		for name, text := range f.ofPackage(folder) {
			files[path.Join(folder, name)] = text
		}
		return nil
	})
	return files, err
}

// All iterates over the package and the packages bundled with it, each once, with their
// folders. The package itself comes first, with folder ".".
func (p *Package) All() iter.Seq2[string, *Package] {
	return func(yield func(string, *Package) bool) {
		p.each(".", map[*Package]bool{}, yield)
	}
}

// each yields the package and those bundled with it, except those seen before. It returns
// false when the iteration is to stop.
func (p *Package) each(folder string, seen map[*Package]bool, yield func(string, *Package) bool) bool {
	if seen[p] {
		return true
	}
	seen[p] = true
	if !yield(folder, p) {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(p.Bundled)) {
		if !p.Bundled[name].each(folderIn(folder, name), seen, yield) {
			return false
		}
	}
	return true
}

// tasks returns the tasks of the package. If a task names a bundled package by its folder,
// tasks replaces the folder by the operator name and the versions of that package. A server
// has no folders.
func (p *Package) tasks() []api.Task {
	tasks := make([]api.Task, len(p.Operator.Tasks))
	for i, task := range p.Operator.Tasks {
		if bundled := p.Bundled[task.Spec.Package]; bundled != nil && task.Kind == api.KudoOperatorTask {
			task.Spec = bundled.PinTask(task.Spec)
		}
		tasks[i] = task
	}
	if len(tasks) == 0 {
		return nil
	}
	return tasks
}

// PinTask returns the spec of a KudoOperator task with name and versions of exactly this
// package.
func (p *Package) PinTask(spec api.TaskSpec) api.TaskSpec {
	spec.Package, spec.OperatorVersion, spec.AppVersion = p.Operator.Name, p.Operator.OperatorVersion, p.Operator.AppVersion
	return spec
}
