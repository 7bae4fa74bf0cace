package kudo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
	"holdfast.dev/holdfast/operator/repo"
)

// What a package may depend on.
const (
	// maxDepth is how many packages may depend on one another in a row.
	maxDepth = 8
	// maxPackages is how many there may be in all.
	maxPackages = 64
)

// resolver finds what packages depend on: those in folders of a package, at a URL,
// in the repository, or on the server already.
type resolver struct {
	*source
	server *server
	// index of the repository, read when it is needed.
	index *repo.Index
	// found are the packages, each behind those that it depends on.
	found []*pack.Package
}

// resolve is a package with all that it depends on, itself the last. The tasks of
// each then name the versions that were found, so that a version that comes later
// changes nothing.
func (s *source) resolve(ctx context.Context, on *server, p *pack.Package) ([]*pack.Package, error) {
	r := &resolver{source: s, server: on}
	if err := r.add(ctx, p, nil); err != nil {
		return nil, err
	}
	return r.found, nil
}

// add takes a package that is needed by those above.
func (r *resolver) add(ctx context.Context, p *pack.Package, above []string) error {
	name := p.VersionName()
	row := append(slices.Clone(above), name)
	known := slices.IndexFunc(r.found, func(other *pack.Package) bool { return other.VersionName() == name })
	switch {
	case slices.Contains(above, name):
		return fmt.Errorf("packages depend on each other in a circle: %s", strings.Join(row, " -> "))
	case len(row) > maxDepth:
		return fmt.Errorf("more than %d packages depend on one another: %s", maxDepth, strings.Join(row, " -> "))
	case known >= 0 && !pinned(p, spec(r.found[known])):
		return fmt.Errorf("package %s is needed more than once, with different content", name)
	case known >= 0:
		return nil
	}
	asStored, err := r.adopt(ctx, p)
	if err != nil {
		return err
	}
	for i := range p.Operator.Tasks {
		task := &p.Operator.Tasks[i]
		if task.Kind != api.KudoOperatorTask {
			continue
		}
		exact, err := r.dependency(ctx, p, task.Spec, row)
		if err != nil {
			return fmt.Errorf("package %s: task %s: %w", name, task.Name, err)
		}
		if !asStored {
			task.Spec = exact
		}
	}
	if r.found = append(r.found, p); len(r.found) > maxPackages {
		return fmt.Errorf("package %s: more than %d packages are needed", name, maxPackages)
	}
	return nil
}

// adopt takes over the versions that a package on the server names, if it is this
// one: what was the newest once stays what it depends on.
func (r *resolver) adopt(ctx context.Context, p *pack.Package) (bool, error) {
	stored, err := r.server.version(ctx, p.VersionName())
	if err != nil || stored == nil || !pinned(p, stored.Spec) {
		return false, err
	}
	for i := range p.Operator.Tasks {
		task := &p.Operator.Tasks[i]
		if task.Kind == api.KudoOperatorTask && p.Bundled[task.Spec.Package] == nil {
			task.Spec = stored.Spec.Tasks[i].Spec
		}
	}
	return true, nil
}

// pinned says whether a version is a package, but for the versions that the
// package leaves open.
func pinned(p *pack.Package, version api.OperatorVersionSpec) bool {
	wanted, version := spec(p), *version.DeepCopy()
	if len(wanted.Tasks) != len(version.Tasks) {
		return false
	}
	for i, task := range wanted.Tasks {
		if task.Kind != api.KudoOperatorTask {
			continue
		}
		if isURL(task.Spec.Package) {
			known := version.Tasks[i].Spec
			wanted.Tasks[i].Spec.Package, wanted.Tasks[i].Spec.OperatorVersion, wanted.Tasks[i].Spec.AppVersion =
				known.Package, known.OperatorVersion, known.AppVersion
			continue
		}
		if task.Spec.OperatorVersion == "" {
			version.Tasks[i].Spec.OperatorVersion = ""
		}
		if task.Spec.AppVersion == "" {
			version.Tasks[i].Spec.AppVersion = ""
		}
	}
	return equality.Semantic.DeepEqual(wanted, version)
}

func spec(p *pack.Package) api.OperatorVersionSpec {
	_, version := p.Resources("")
	return version.Spec
}

// dependency finds the package that a task wants, with all that it depends on, and
// returns the task with its versions.
func (r *resolver) dependency(ctx context.Context, p *pack.Package, wanted api.TaskSpec, above []string) (api.TaskSpec, error) {
	found := p.Bundled[wanted.Package]
	if found == nil {
		var err error
		if found, err = r.fetch(ctx, wanted); err != nil {
			var none repo.NotFoundError
			if errors.As(err, &none) {
				return r.there(ctx, wanted, none)
			}
			return wanted, err
		}
	}
	if wanted.OperatorVersion != "" && wanted.OperatorVersion != found.Operator.OperatorVersion ||
		wanted.AppVersion != "" && wanted.AppVersion != found.Operator.AppVersion {
		return wanted, fmt.Errorf("package %s is %s, not %s", wanted.Package, found.VersionName(),
			api.OperatorVersionName(found.Operator.Name, wanted.AppVersion, wanted.OperatorVersion))
	}
	return found.PinTask(wanted), r.add(ctx, found, above)
}

// fetch gets a package from a URL or from the repository.
func (r *resolver) fetch(ctx context.Context, wanted api.TaskSpec) (*pack.Package, error) {
	var p *pack.Package
	var err error
	if isURL(wanted.Package) {
		p, err = repo.LoadURL(ctx, client(), wanted.Package)
	} else {
		if r.index == nil {
			if r.index, err = r.source.index(ctx); err != nil {
				return nil, err
			}
		}
		var entry *repo.Entry
		if entry, err = r.index.Find(repo.Query{Name: wanted.Package, OperatorVersion: wanted.OperatorVersion, AppVersion: wanted.AppVersion}); err != nil {
			return nil, err
		}
		p, err = entry.Load(ctx, client())
	}
	if err != nil {
		return nil, err
	}
	if err := p.Verify().Err(); err != nil {
		return nil, fmt.Errorf("package %s is not valid:\n%w", wanted.Package, err)
	}
	return p, nil
}

// there is the task with the newest version that is on the server and is what it
// wants. missing is why it comes from nowhere else.
func (r *resolver) there(ctx context.Context, wanted api.TaskSpec, missing error) (api.TaskSpec, error) {
	var list api.OperatorVersionList
	if err := r.server.list(ctx, operatorVersions, &list); err != nil {
		return wanted, err
	}
	newest := api.Newest(list.Items, wanted)
	if newest == nil {
		return wanted, fmt.Errorf("%w, and no such version of operator %s in namespace %s", missing, wanted.Package, r.server.namespace)
	}
	wanted.OperatorVersion, wanted.AppVersion = newest.Spec.Version, newest.Spec.AppVersion
	return wanted, nil
}
