package authorship

import (
	"context"
	"fmt"

	"holdfast.dev/holdfast/api"
)

// Whole is the name in Authors of the users with values that took part in the Instance as a
// whole, because a plan of another Instance applied it. They may have decided that it exists
// and which OperatorVersion it has. No parameter has this name.
const Whole = ""

// Inherited tells where the content of an Instance comes from that a plan of another Instance
// applies.
type Inherited struct {
	// Writer is the name of the user with the rights of which the controller applies the
	// Instance.
	Writer string
	// Values are the parameter values that the plan applies.
	Values map[string]string
	// Authors are the authors of the values that took part in each of these values, and in
	// the whole Instance.
	Authors Authors
}

// inheritedSubject is what the sealed authors of an applied Instance are about.
type inheritedSubject struct {
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	OperatorVersion string `json:"operatorVersion"`
	Writer          string `json:"writer"`
}

// encodedInherited is the sealed form of an Inherited.
type encodedInherited struct {
	Users   []User            `json:"users,omitempty"`
	Authors map[string][]int  `json:"authors,omitempty"`
	Values  map[string]string `json:"values,omitempty"`
}

func inheritedBy(instance *api.Instance, writer string) Subject {
	return Subject{Purpose: "authors of an applied Instance", About: inheritedSubject{
		Namespace: instance.Namespace, Name: instance.Name, OperatorVersion: instance.VersionKey(), Writer: writer,
	}}
}

// SetInherited seals authors on an Instance that the controller is about to apply, for the
// parameter values that it has.
func (k *Keyring) SetInherited(ctx context.Context, instance *api.Instance, inherited Inherited) error {
	content := encodedInherited{Values: instance.Spec.Parameters}
	content.Users, content.Authors = indexAll(nil, inherited.Authors)
	text, err := k.Seal(ctx, inheritedBy(instance, inherited.Writer), content)
	if err != nil {
		return err
	}
	api.SetAnnotation(instance, api.InheritedAuthorsAnnotation, text)
	return nil
}

// Inherited returns the authors that the controller sealed on an Instance for a write by a
// user. The error is ErrUnverified if they were not sealed for this Instance and this user.
func (k *Keyring) Inherited(ctx context.Context, instance *api.Instance, writer string) (Inherited, error) {
	var content encodedInherited
	if err := k.Open(ctx, inheritedBy(instance, writer), instance.Annotations[api.InheritedAuthorsAnnotation], &content); err != nil {
		return Inherited{}, fmt.Errorf("the inherited authors: %w", err)
	}
	return Inherited{Writer: writer, Values: content.Values, Authors: resolve(content.Users, content.Authors)}, nil
}
