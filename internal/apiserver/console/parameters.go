package console

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/value"
)

// Packages has what the server knows about operator packages.
type Packages struct {
	// Version returns an OperatorVersion, nil if there is none.
	Version instance.Versions
	// Rights decide whether the user of a request may get the OperatorVersion.
	Rights authorizer.UnconditionalAuthorizer
}

// newerVersion is the exception of an immutable parameter.
const newerVersion = "an upgrade to an OperatorVersion in which the parameter is not immutable"

// addParameters adds a lock for each immutable parameter of an Instance. Only the OperatorVersion
// says which parameters are immutable, so the report has the locks if the user may get it.
func (s Sources) addParameters(ctx context.Context, report *Report, instance *api.Instance) error {
	if s.Packages == nil {
		report.addNote("this server runs no operator packages, so it does not know which parameters are immutable")
		return nil
	}
	key := instance.VersionKey()
	namespace, name := api.SplitVersionKey(key, instance.Namespace)
	if !s.Packages.mayGet(ctx, namespace, name) {
		report.addNote("you may not get the OperatorVersion %s, which says which parameters are immutable", key)
		return nil
	}
	version, err := s.Packages.Version(ctx, namespace, name)
	if err != nil {
		return fmt.Errorf("read the OperatorVersion %s: %w", key, err)
	}
	if version == nil {
		report.addNote("the OperatorVersion %s, which says which parameters are immutable, does not exist", key)
		return nil
	}
	stored := instance.Spec.Parameters
	names := version.Definitions().Locked(stored)
	slices.Sort(names)
	for _, name := range names {
		_, present := stored[name]
		path := value.NewPath(value.Step{Name: "spec"}, value.Step{Name: "parameters"}, value.Step{Name: name})
		report.Locks = append(report.Locks, newLock(
			immutability.Lock{Path: path, Marker: immutability.Immutable, Absent: !present, Exception: newerVersion},
			reasonParameter, "the parameter is immutable in the OperatorVersion "+key))
	}
	return nil
}

// mayGet reports whether the user of a request may get an OperatorVersion. An error counts as no.
func (p *Packages) mayGet(ctx context.Context, namespace, name string) bool {
	user, found := request.UserFrom(ctx)
	if !found {
		return false
	}
	answer, _, err := p.Rights.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: "get", ResourceRequest: true, Namespace: namespace, Name: name,
		APIGroup: api.GroupVersion.Group, APIVersion: api.GroupVersion.Version, Resource: "operatorversions",
	})
	return err == nil && answer == authorizer.DecisionAllow
}
