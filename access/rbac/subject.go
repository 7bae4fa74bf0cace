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

// bySubject is the index of bindings under the keys of their subjects.
const bySubject = "holdfast.dev/subject"

// subjectIndexers are added to the informers of both kinds of bindings.
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

// subjectKeys gives every subject's key once.
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

// subjectKey is the key of a subject, or "" for one that is nobody. A service
// account is the user of its name; without a namespace it is in the binding's.
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

// keysOf gives the keys under which the bindings of a user are found.
func keysOf(u user.Info) []string {
	groups := u.GetGroups()
	keys := make([]string, 0, 1+len(groups))
	keys = append(keys, userKey(u.GetName()))
	for _, group := range groups {
		keys = append(keys, groupKey(group))
	}
	return keys
}

// describeSubject names the first of subjects that the user is.
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
