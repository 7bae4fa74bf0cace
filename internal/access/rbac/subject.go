package rbac

import (
	"fmt"
	"slices"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"
)

// bySubject is the name of the index of bindings by subject.
const bySubject = "subject"

// subjectIndexers returns the index of ClusterRoleBindings by subject key, and of
// RoleBindings by namespace and subject key.
func subjectIndexers() cache.Indexers {
	return cache.Indexers{bySubject: func(obj any) ([]string, error) {
		switch binding := obj.(type) {
		case *rbacv1.ClusterRoleBinding:
			return subjectKeys(binding.Subjects, ""), nil
		case *rbacv1.RoleBinding:
			keys := subjectKeys(binding.Subjects, binding.Namespace)
			for i, key := range keys {
				keys[i] = binding.Namespace + "/" + key
			}
			return keys, nil
		}
		return nil, fmt.Errorf("index subjects: unexpected %T", obj)
	}}
}

// subjectKeys returns the keys of the subjects, without duplicates.
func subjectKeys(subjects []rbacv1.Subject, namespace string) []string {
	keys := make([]string, 0, len(subjects))
	for _, subject := range subjects {
		if key := subjectKey(subject, namespace); key != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// subjectKey returns the index key of a subject, or "" if no user can match the
// subject. The key of a service account is that of its user name. If the subject
// of a service account has no namespace, the namespace of the binding is used.
func subjectKey(subject rbacv1.Subject, namespace string) string {
	switch subject.Kind {
	case rbacv1.UserKind:
		return userKey(subject.Name)
	case rbacv1.GroupKind:
		return groupKey(subject.Name)
	case rbacv1.ServiceAccountKind:
		if subject.Namespace != "" {
			namespace = subject.Namespace
		}
		if namespace == "" {
			return ""
		}
		return userKey(serviceaccount.MakeUsername(namespace, subject.Name))
	}
	return ""
}

func userKey(name string) string  { return "u:" + name }
func groupKey(name string) string { return "g:" + name }

// keysOf returns the subject keys that match a user: one for the name and one for
// each group.
func keysOf(u user.Info) []string {
	groups := u.GetGroups()
	keys := make([]string, 0, 1+len(groups))
	keys = append(keys, userKey(u.GetName()))
	for _, group := range groups {
		keys = append(keys, groupKey(group))
	}
	return keys
}

// describeSubject formats the first subject that matches the user.
func describeSubject(u user.Info, subjects []rbacv1.Subject, namespace string) string {
	keys := keysOf(u)
	for _, subject := range subjects {
		if !slices.Contains(keys, subjectKey(subject, namespace)) {
			continue
		}
		name := subject.Name
		if subject.Kind == rbacv1.ServiceAccountKind {
			if subject.Namespace != "" {
				namespace = subject.Namespace
			}
			name += "/" + namespace
		}
		return subject.Kind + " " + strconv.Quote(name)
	}
	return ""
}
