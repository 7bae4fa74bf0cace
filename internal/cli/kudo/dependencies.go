package kudo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/repo"
)

// The limits of dependencies.
const (
	// maxDepth is the number of packages in the longest allowed chain of dependencies.
	maxDepth = 8
	// maxPackages is the largest allowed number of packages in all.
	maxPackages = 64
)

// resolver finds the dependencies of packages: bundled packages, packages at a URL or in the
// repository, and OperatorVersions that are already on the server.
type resolver struct {
	*source
	server *server
	// index is the index of the repository, nil until it is needed.
	index *repo.Index
	// found lists the packages, each after those that it depends on.
	found []*pack.Package
}

// resolve returns a package and all packages that it depends on, the package itself last. It
// sets the versions that it found in the tasks of each package, so that a newer version that
// appears later is not used.
func (s *source) resolve(ctx context.Context, on *server, p *pack.Package) ([]*pack.Package, error) {
	r := &resolver{source: s, server: on}
	if err := r.add(ctx, p, nil); err != nil {
		return nil, err
	}
	return r.found, nil
}

// add adds a package and its dependencies. dependents is the chain of packages that depend on
// it, beginning with the one that the user named.
func (r *resolver) add(ctx context.Context, p *pack.Package, dependents []string) error {
	name := p.VersionName()
	chain := append(slices.Clone(dependents), name)
	known := slices.IndexFunc(r.found, func(other *pack.Package) bool { return other.VersionName() == name })
	switch {
	case slices.Contains(dependents, name):
		return fmt.Errorf("packages depend on each other in a circle: %s", strings.Join(chain, " -> "))
	case len(chain) > maxDepth:
		return fmt.Errorf("more than %d packages depend on one another: %s", maxDepth, strings.Join(chain, " -> "))
	case known >= 0 && !sameUpToVersions(p, spec(r.found[known])):
		return fmt.Errorf("package %s is needed more than once, with different content", name)
	case known >= 0:
		return nil
	}
	adopted, err := r.adoptVersions(ctx, p)
	if err != nil {
		return err
	}
	for i := range p.Operator.Tasks {
		task := &p.Operator.Tasks[i]
		if task.Kind != api.KudoOperatorTask {
			continue
		}
		exact, err := r.dependency(ctx, p, task.Spec, chain)
		if err != nil {
			return fmt.Errorf("package %s: task %s: %w", name, task.Name, err)
		}
		if !adopted {
			task.Spec = exact
		}
	}
	if r.found = append(r.found, p); len(r.found) > maxPackages {
		return fmt.Errorf("package %s: more than %d packages are needed", name, maxPackages)
	}
	return nil
}

// adoptVersions copies the versions of the dependencies from the OperatorVersion on the
// server, if the server already has this package. A package therefore keeps the versions with
// which it was first installed. It returns false if the server does not have the package, or
// has an OperatorVersion of the same name with other content.
func (r *resolver) adoptVersions(ctx context.Context, p *pack.Package) (bool, error) {
	stored, err := r.server.version(ctx, p.VersionName())
	if err != nil || stored == nil || !sameUpToVersions(p, stored.Spec) {
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

// sameUpToVersions reports whether an OperatorVersion has the content of a package, apart from
// the versions of dependencies that the package does not specify.
func sameUpToVersions(p *pack.Package, version api.OperatorVersionSpec) bool {
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
	return api.SameContent(wanted, version)
}

// spec returns the OperatorVersionSpec of a package.
func spec(p *pack.Package) api.OperatorVersionSpec {
	_, version := p.Resources("")
	return version.Spec
}

// dependency adds the package that a task installs, and its dependencies. It returns the spec
// of the task with the exact versions.
func (r *resolver) dependency(ctx context.Context, p *pack.Package, wanted api.TaskSpec, dependents []string) (api.TaskSpec, error) {
	found := p.Bundled[wanted.Package]
	if found == nil {
		var err error
		if found, err = r.fetch(ctx, p, wanted); err != nil {
			var none repo.NotFoundError
			if errors.As(err, &none) {
				return r.onServer(ctx, wanted, none)
			}
			return wanted, err
		}
	}
	if wanted.OperatorVersion != "" && wanted.OperatorVersion != found.Operator.OperatorVersion ||
		wanted.AppVersion != "" && wanted.AppVersion != found.Operator.AppVersion {
		return wanted, fmt.Errorf("package %s is %s, not %s", wanted.Package, found.VersionName(),
			api.OperatorVersionName(found.Operator.Name, wanted.AppVersion, wanted.OperatorVersion))
	}
	return found.PinTask(wanted), r.add(ctx, found, dependents)
}

// fetch reads and verifies a package that another one needs, from a URL or from the
// repository.
func (r *resolver) fetch(ctx context.Context, dependent *pack.Package, wanted api.TaskSpec) (*pack.Package, error) {
	var p *pack.Package
	var err error
	if isURL(wanted.Package) {
		if err := repo.CheckLink(dependent.Location, wanted.Package); err != nil {
			return nil, err
		}
		p, err = r.client().PackageAt(ctx, wanted.Package)
	} else {
		if r.index == nil {
			if r.index, err = r.source.index(ctx); err != nil {
				return nil, err
			}
		}
		var entry *repo.Entry
		query := repo.Query{Name: wanted.Package, OperatorVersion: wanted.OperatorVersion, AppVersion: wanted.AppVersion}
		if entry, err = r.index.Find(query); err != nil {
			return nil, err
		}
		p, err = r.fetchEntry(ctx, entry)
	}
	if err != nil {
		return nil, err
	}
	if err := p.Verify().Err(); err != nil {
		return nil, command.Refused(fmt.Errorf("package %s is not valid:\n%w", wanted.Package, err))
	}
	return p, nil
}

// onServer returns the spec of a task with the newest matching version on the server. The
// error missing tells why the package was not found elsewhere.
func (r *resolver) onServer(ctx context.Context, wanted api.TaskSpec, missing error) (api.TaskSpec, error) {
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
