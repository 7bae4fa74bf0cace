package answer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The forms in which a client can ask for objects. The quick form takes those with texts from its cache: one text for each object, or
// two, if a watch sends the object in two events.
var queries = map[string]struct {
	query
	texts int
}{
	"get":                        {query{verb: "get"}, 1},
	"get, gzip":                  {query{verb: "get", encoding: "gzip"}, 1},
	"get, pretty":                {query{verb: "get", params: "pretty=true"}, 0},
	"get as YAML":                {query{verb: "get", accept: "application/yaml"}, 0},
	"get as a table":             {query{verb: "get", accept: as("Table", "v1")}, 0},
	"get metadata":               {query{verb: "get", accept: as("PartialObjectMetadata", "v1")}, 0},
	"list":                       {query{verb: "list"}, 1},
	"list, gzip":                 {query{verb: "list", encoding: "gzip"}, 1},
	"list, pretty":               {query{verb: "list", params: "pretty=true"}, 0},
	"list as YAML, gzip":         {query{verb: "list", accept: "application/yaml", encoding: "gzip"}, 0},
	"list metadata":              {query{verb: "list", accept: as("PartialObjectMetadataList", "v1")}, 1},
	"list metadata, gzip":        {query{verb: "list", accept: as("PartialObjectMetadataList", "v1"), encoding: "gzip"}, 1},
	"list metadata, v1beta1":     {query{verb: "list", accept: as("PartialObjectMetadataList", "v1beta1")}, 1},
	"list metadata, pretty":      {query{verb: "list", accept: as("PartialObjectMetadataList", "v1"), params: "pretty=1"}, 0},
	"list metadata as protobuf":  {query{verb: "list", accept: "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}, 0},
	"list as a table":            {query{verb: "list", accept: as("Table", "v1")}, 1},
	"list as a table, gzip":      {query{verb: "list", accept: as("Table", "v1"), encoding: "gzip"}, 1},
	"list as a table, v1beta1":   {query{verb: "list", accept: as("Table", "v1beta1")}, 1},
	"list as a table, Metadata":  {query{verb: "list", accept: as("Table", "v1"), params: "includeObject=Metadata"}, 1},
	"list as a table, None":      {query{verb: "list", accept: as("Table", "v1"), params: "includeObject=None"}, 0},
	"list as a table, Object":    {query{verb: "list", accept: as("Table", "v1"), params: "includeObject=Object"}, 0},
	"list as a table, unknown":   {query{verb: "list", accept: as("Table", "v1"), params: "includeObject=Unknown"}, 0},
	"list, not acceptable":       {query{verb: "list", accept: "text/html"}, 0},
	"watch":                      {query{verb: "watch"}, 2},
	"watch, gzip":                {query{verb: "watch", encoding: "gzip"}, 2},
	"watch as YAML":              {query{verb: "watch", accept: "application/yaml"}, 0},
	"watch as a table":           {query{verb: "watch", accept: as("Table", "v1")}, 0},
	"watch as a table, Object":   {query{verb: "watch", accept: as("Table", "v1"), params: "includeObject=Object"}, 0},
	"watch metadata":             {query{verb: "watch", accept: as("PartialObjectMetadata", "v1")}, 0},
	"watch metadata as protobuf": {query{verb: "watch", accept: "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}, 0},
}

func as(form, version string) string {
	return "application/json;as=" + form + ";v=" + version + ";g=meta.k8s.io"
}

// TestFormsAgree compares the answers of both forms to random objects, byte by byte, and checks that the quick form used its cache.
func TestFormsAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newRandom(w, 1)
	cache := newQuick(w.format)
	quickly, plainly := w.endpoint(t, w.v1, cache), w.endpoint(t, w.v1, plain{})
	seen := map[string]int{}
	for round := range 24 {
		list := r.list(round % 8)
		from := stored{TableConvertor: quickly.scope.TableConvertor, list: list, events: r.events(list)}
		for name, q := range queries {
			if q.verb == "get" && len(list.Items) == 0 {
				continue
			}
			want := plainly.ask(t, q.query, from)
			// The second time, the texts are in the cache.
			for _, time := range []string{"first", "second"} {
				hits := cache.figure(t, "hits_total")
				got := quickly.ask(t, q.query, from)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s of %d objects, the %s time (-plain +quick):\n%.4000s", name, len(list.Items), time, diff)
				}
				objects := len(list.Items)
				if q.verb == "get" {
					objects = 1
				}
				if used := cache.figure(t, "hits_total") - hits; time == "second" && used < objects*q.texts || q.texts == 0 && used > 0 {
					t.Errorf("%s of %d objects, the %s time: %d texts came from the cache, want %d of each object", name, objects, time, used, q.texts)
				}
			}
			seen[fmt.Sprintf("%d %s", want.Code, want.Encoding)]++
		}
	}
	for _, want := range []string{"200 ", "200 gzip", "400 ", "406 "} {
		if seen[want] == 0 {
			t.Errorf("no answer had the code and the encoding %q: %v", want, seen)
		}
	}
}
