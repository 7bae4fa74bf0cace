package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// openRecord opens the record of the run. A record that does not verify ends the run: only a
// new request can replace it. The first time, admission adds the UID of the Instance to the
// record, so that the record cannot be used for a later Instance of the same name.
func (e *execution) openRecord(ctx context.Context) error {
	var err error
	if e.users, err = e.keys.Record(ctx, e.instance); err == nil && e.users.Instance == "" {
		var stored *api.Instance
		if stored, err = e.write(ctx, e.instance); err != nil {
			return err
		}
		e.instance = stored
		e.users, err = e.keys.Record(ctx, e.instance)
	}
	if errors.Is(err, authorship.ErrUnverified) {
		return fatalf("it is not known which user requested the plan: %w. Request the plan again, to run it with your rights", err)
	}
	if err != nil {
		return err
	}
	return e.checkKnown()
}

// checkKnown returns a fatal error if the author of a value is not known.
func (e *execution) checkKnown() error {
	unknown := func(user authorship.User) bool { return !user.Known() }
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.users.Authors)) {
		if slices.ContainsFunc(e.users.Authors[name], unknown) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fatalf("it is not known which user set the value of %s: set it again. To answer for the value that it has, %s",
		quoted(names), e.wayOut(names))
}

// requester returns the user whose rights the run has.
func (e *execution) requester(ctx context.Context) (authorship.User, error) {
	if e.users.Deletion {
		return e.deleter(ctx, e.instance)
	}
	return e.users.Requester, nil
}

// deleter returns the user whose rights the cleanup of a deleted Instance has: the user
// that deleted it, or the last requester if a controller of the cluster deleted it. It
// returns a waitingError if the user is not known.
func (c *controller) deleter(ctx context.Context, instance *api.Instance) (authorship.User, error) {
	deletion, err := c.deletions.Get(ctx, instance)
	switch {
	case errors.Is(err, authorship.ErrUnverified):
		return authorship.User{}, waiting("it is not known which user deleted the instance: delete it again, to clean up with your rights")
	case err != nil:
		return authorship.User{}, err
	case !deletion.Controller:
		return deletion.By, nil
	}
	record, err := c.keys.Record(ctx, instance)
	if errors.Is(err, authorship.ErrUnverified) {
		return authorship.User{}, fatalError{err}
	}
	return record.Requester, err
}

// checkAccount returns a fatal error if the user is a service account that does not exist any
// more. An account that was created again under the same name is another one.
func (c *controller) checkAccount(ctx context.Context, user authorship.User) error {
	namespace, name, err := serviceaccount.SplitUsername(user.Username)
	if err != nil {
		return nil //nolint:nilerr // it is no service account
	}
	account, err := c.server.Typed.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fatalf("service account %s/%s does not exist any more", namespace, name)
	case err != nil:
		return fmt.Errorf("service account %s/%s: %w", namespace, name, err)
	case user.UID != "" && user.UID != string(account.UID):
		return fatalf("service account %s/%s was deleted and created again", namespace, name)
	}
	return nil
}
