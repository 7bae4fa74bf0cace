package kudo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
)

// offer is a package on a server, for an Instance to come.
type offer struct {
	server  *server
	created []creation
}

// creation is an object that was not there before.
type creation struct {
	resource string
	object   metav1.Object
}

// put creates the Operators and the OperatorVersions of packages, if they are not
// there, all or none. An OperatorVersion of this name that is another one is an
// error.
func (s *server) put(ctx context.Context, packages []*pack.Package) (*offer, error) {
	if err := s.sameAll(ctx, packages); err != nil {
		return nil, err
	}
	o := &offer{server: s}
	for _, p := range packages {
		operator, version := p.Resources(s.namespace)
		for _, wanted := range []creation{{operators, operator}, {operatorVersions, version}} {
			if err := o.create(ctx, wanted); err != nil {
				return nil, errors.Join(err, o.withdraw(ctx))
			}
		}
	}
	// Somebody else may have created one in between.
	if err := s.sameAll(ctx, packages); err != nil {
		return nil, errors.Join(err, o.withdraw(ctx))
	}
	return o, nil
}

// create creates an object, if there is none. Who may not write what is there may
// still install it.
func (o *offer) create(ctx context.Context, wanted creation) error {
	var object interface {
		metav1.Object
		runtime.Object
	}
	switch wanted := wanted.object.(type) {
	case *api.Operator:
		object = wanted.DeepCopy()
	case *api.OperatorVersion:
		object = wanted.DeepCopy()
	}
	err := o.server.get(ctx, wanted.resource, object.GetName(), object.DeepCopyObject())
	if apierrors.IsNotFound(err) {
		if err = o.server.create(ctx, wanted.resource, object); err == nil {
			o.created = append(o.created, creation{wanted.resource, object})
			return nil
		}
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", wanted.resource, object.GetName(), err)
	}
	return nil
}

// rereadTimeout is how long the server may take to say what became of a write.
const rereadTimeout = 10 * time.Second

// settle ends a write of an Instance that failed: without it there is no use for what
// was created. Where the answer was lost, the Instance may be stored, and needs it.
func (o *offer) settle(ctx context.Context, instance, version string, failed error) error {
	if len(o.created) == 0 || refusedByServer(failed) {
		return errors.Join(failed, o.withdraw(ctx))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rereadTimeout)
	defer cancel()
	stored := &api.Instance{}
	switch err := o.server.get(ctx, instances, instance, stored); {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("%w\nwhether instance %s was written is not known, so operator version %s is left on the server: %w", failed, instance, version, err)
	case err == nil && stored.Spec.OperatorVersion.Name == version:
		return fmt.Errorf("%w\ninstance %s was written all the same, with operator version %s", failed, instance, version)
	}
	return errors.Join(failed, o.withdraw(ctx))
}

// refusedByServer says that an error is the answer of a server that wrote nothing.
func refusedByServer(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// withdraw deletes what was created, and nothing else, even when the command is
// being ended.
func (o *offer) withdraw(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for i := len(o.created) - 1; i >= 0; i-- {
		created := o.created[i]
		err := o.server.remove(ctx, created.resource, created.object)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("delete %s %s, which was created for this: %w", created.resource, created.object.GetName(), err))
		}
	}
	return errors.Join(failed...)
}

// sameAll refuses packages whose OperatorVersions are there with other content.
func (s *server) sameAll(ctx context.Context, packages []*pack.Package) error {
	for _, p := range packages {
		_, wanted := p.Resources(s.namespace)
		stored, err := s.version(ctx, wanted.Name)
		if err != nil {
			return err
		}
		if stored != nil && !equality.Semantic.DeepEqual(stored.Spec, wanted.Spec) {
			return fmt.Errorf("operator version %s is in namespace %s already, with other content: give the package another operatorVersion",
				wanted.Name, s.namespace)
		}
	}
	return nil
}
