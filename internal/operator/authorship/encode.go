package authorship

import (
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// encoded is the sealed form of a record. Each user is stored once, because a user may have
// many groups and set many parameters.
type encoded struct {
	Users     []User           `json:"users,omitempty"`
	Requester int              `json:"requester"`
	Authors   map[string][]int `json:"authors,omitempty"`
	Deletion  bool             `json:"deletion,omitempty"`
	Instance  types.UID        `json:"instance,omitempty"`
}

func encode(record Record) encoded {
	content := encoded{Deletion: record.Deletion, Instance: record.Instance}
	content.Users, content.Requester = indexed(nil, record.Requester)
	content.Users, content.Authors = indexAll(content.Users, record.Authors)
	return content
}

func (e encoded) decode() Record {
	record := Record{Deletion: e.Deletion, Instance: e.Instance, Authors: resolve(e.Users, e.Authors)}
	if e.Requester < len(e.Users) {
		record.Requester = e.Users[e.Requester]
	}
	return record
}

// indexed returns the index of a user in a list, to which it adds the user if necessary.
func indexed(users []User, user User) ([]User, int) {
	same := func(known User) bool { return apiequality.Semantic.DeepEqual(known, user) }
	if i := slices.IndexFunc(users, same); i >= 0 {
		return users, i
	}
	return append(users, user), len(users)
}

// indexAll replaces the users of all parameters by their indexes. It visits the parameters
// in the order of their names, so that the result is always the same.
func indexAll(users []User, authors Authors) ([]User, map[string][]int) {
	if len(authors) == 0 {
		return users, nil
	}
	indexes := map[string][]int{}
	for _, parameter := range slices.Sorted(maps.Keys(authors)) {
		for _, author := range authors[parameter] {
			var i int
			users, i = indexed(users, author)
			indexes[parameter] = append(indexes[parameter], i)
		}
	}
	return users, indexes
}

// resolve is the inverse of indexAll.
func resolve(users []User, indexes map[string][]int) Authors {
	if len(indexes) == 0 {
		return nil
	}
	authors := Authors{}
	for parameter, all := range indexes {
		for _, i := range all {
			if i < len(users) {
				authors[parameter] = append(authors[parameter], users[i])
			}
		}
	}
	return authors
}
