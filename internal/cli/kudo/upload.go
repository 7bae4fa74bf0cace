package kudo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// upload is the list of objects that the command created for packages before it writes the
// Instance. If the write of the Instance fails, the command deletes these objects again.
type upload struct {
	server  *server
	created []uploadedObject
}

// uploadedObject is an Operator or an OperatorVersion.
type uploadedObject struct {
	resource string
	object   metav1.Object
}

// upload creates the Operators and OperatorVersions of packages that do not exist yet. If one
// cannot be created, it deletes the others again. It is an error if an OperatorVersion exists
// with other content.
func (s *server) upload(ctx context.Context, packages []*pack.Package) (*upload, error) {
	if err := s.checkContent(ctx, packages); err != nil {
		return nil, err
	}
	u := &upload{server: s}
	for _, p := range packages {
		operator, version := p.Resources(s.namespace)
		for _, wanted := range []uploadedObject{{operators, operator}, {operatorVersions, version}} {
			if err := u.create(ctx, wanted); err != nil {
				return nil, errors.Join(err, u.deleteCreated(ctx))
			}
		}
	}
	// Another client may have created one of them since the first check.
	if err := s.checkContent(ctx, packages); err != nil {
		return nil, errors.Join(err, u.deleteCreated(ctx))
	}
	return u, nil
}

// create creates an object if it does not exist. It reads first, so that a user without the
// right to create OperatorVersions can install one that exists.
func (u *upload) create(ctx context.Context, wanted uploadedObject) error {
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
	err := u.server.get(ctx, wanted.resource, object.GetName(), object.DeepCopyObject())
	if apierrors.IsNotFound(err) {
		if err = u.server.create(ctx, wanted.resource, object); err == nil && !u.server.dryRun.IsSet() {
			u.created = append(u.created, uploadedObject{wanted.resource, object})
		}
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", wanted.resource, object.GetName(), err)
	}
	return nil
}

// rereadTimeout is the time for reading an Instance after its write failed.
const rereadTimeout = 10 * time.Second

// cleanUp is called when the write of the Instance has failed. It deletes the created
// objects, unless the Instance was stored although the response was lost: the Instance then
// needs them. It also keeps them if it cannot read whether the Instance was stored. It returns
// the error of the write, with what is known about the Instance.
func (u *upload) cleanUp(ctx context.Context, instance, version string, failed error) error {
	if len(u.created) == 0 || refusedByServer(failed) {
		return errors.Join(failed, u.deleteCreated(ctx))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rereadTimeout)
	defer cancel()
	stored := &api.Instance{}
	switch err := u.server.get(ctx, instances, instance, stored); {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("%w\nwhether instance %s was written is not known, so operator version %s is left on the server: %w",
			failed, instance, version, err)
	case err == nil && stored.VersionKey() == version:
		return fmt.Errorf("%w\ninstance %s was written all the same, with operator version %s", failed, instance, version)
	}
	return errors.Join(failed, u.deleteCreated(ctx))
}

// refusedByServer reports whether an error is the response of a server that has not stored
// the object.
func refusedByServer(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// deleteCreated deletes the created objects, also when the context has ended. It does not
// delete an object that another client has deleted and created again.
func (u *upload) deleteCreated(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for i := len(u.created) - 1; i >= 0; i-- {
		created := u.created[i]
		err := u.server.remove(ctx, created.resource, created.object)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("delete %s %s, which was created for this: %w",
				created.resource, created.object.GetName(), err))
		}
	}
	return errors.Join(failed...)
}

// checkContent returns an error if an OperatorVersion of the packages exists with other
// content.
func (s *server) checkContent(ctx context.Context, packages []*pack.Package) error {
	for _, p := range packages {
		_, wanted := p.Resources(s.namespace)
		stored, err := s.version(ctx, wanted.Name)
		if err != nil {
			return err
		}
		if stored != nil && !api.SameContent(stored.Spec, wanted.Spec) {
			return command.Refused(fmt.Errorf("operator version %s is in namespace %s already, with other content: give the package another operatorVersion",
				wanted.Name, s.namespace))
		}
	}
	return nil
}
