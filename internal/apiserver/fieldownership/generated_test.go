package fieldownership_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/common"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestSoakGenerated checks the warnings about generated writes to objects of all built-in kinds
// and of a custom resource.
func TestSoakGenerated(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	t.Run("applied twice", func(t *testing.T) { checkAppliedTwice(t, l) })
	t.Run("imperative writes", func(t *testing.T) { checkImperativeWrites(t, l) })
}

// lab is a server with manifests of all kinds, for generated writes.
type lab struct {
	*wire
	models    map[string]common.OpenAPIDefinition
	manifests []*manifest
	// owner is a reference to an object that exists.
	owner map[string]any
	// objects is the number of objects so far.
	objects int
}

func newLab(t *testing.T) *lab {
	t.Helper()
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	l := &lab{wire: newWire(t, config, native.NewScheme()), models: models(), manifests: manifests(t)}
	for _, needed := range []struct{ path, text string }{
		{"/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: owner}}"},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetDefinition},
		{"/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"},
		{"/api/v1/namespaces/shop/serviceaccounts", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop}}"},
		{
			"/apis/scheduling.k8s.io/v1/priorityclasses",
			"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 5}",
		},
	} {
		got := l.send(t, call{method: http.MethodPost, path: needed.path, body: yamltest.Map(t, needed.text)})
		if !got.stored() {
			t.Fatal(got.message())
		}
		if l.owner == nil {
			uid := string((&unstructured.Unstructured{Object: got.object}).GetUID())
			l.owner = map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "owner", "uid": uid}
		}
	}
	widgets := l.manifests[len(l.manifests)-1].collection()
	waittest.Until(t, "widgets are served", func() bool {
		return l.send(t, call{method: http.MethodGet, path: widgets}).stored()
	})
	return l
}

// round is one generated sequence of writes to one object.
type round struct {
	*testing.T
	*lab
	mutator
	name string
	log  strings.Builder
}

// schedule says which rounds a test runs: those with the seeds of earlier failures, and then
// a number of times one for each manifest.
type schedule struct {
	found []source
	times int
}

// source is the manifest and the seeds of the random changes of one round.
type source struct {
	manifest     string
	seed, stream uint64
	// metadata means that finalizers and owner references change, too.
	metadata bool
}

// rounds calls f for the rounds of a schedule. A soak test has rounds for every manifest until
// its time is over.
func (l *lab) rounds(t *testing.T, s schedule, f func(r *round, m *manifest)) {
	t.Helper()
	for _, from := range s.found {
		i := slices.IndexFunc(l.manifests, func(m *manifest) bool { return m.name == from.manifest })
		if i < 0 {
			t.Fatalf("no manifest %s", from.manifest)
		}
		l.round(t, l.manifests[i], from, f)
	}
	end, seed := time.Time{}, uint64(1)
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		duration, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		end, seed = time.Now().Add(duration), uint64(time.Now().UnixNano())
	}
	for n := 0; n < s.times || time.Now().Before(end); n++ {
		for i, m := range l.manifests {
			from := source{manifest: m.name, seed: seed + uint64(n), stream: uint64(i)}
			// Controllers set and remove the finalizers of these kinds.
			isProtected := strings.HasPrefix(m.resource, "persistentvolume") || m.resource == "volumeattributesclasses"
			from.metadata = from.seed%4 == 0 && !isProtected
			l.round(t, m, from, f)
		}
	}
}

// round calls f for one manifest, and deletes the object.
func (l *lab) round(t *testing.T, m *manifest, from source, f func(r *round, m *manifest)) {
	t.Helper()
	r := &round{
		T: t, lab: l, name: fmt.Sprintf("%+v", from),
		mutator: mutator{Rand: rand.New(rand.NewPCG(from.seed, from.stream)), models: l.models},
	}
	if from.metadata {
		r.mutator.owner = l.owner
	}
	fresh := m.copied()
	// The content of these kinds decides their names.
	if l.objects++; m.resource != "ipaddresses" && m.resource != "apiservices" {
		fresh.meta().SetName(fmt.Sprintf("%s-%d", m.meta().GetName(), l.objects))
	}
	f(r, fresh)
	l.send(t, call{method: http.MethodDelete, path: fresh.path(), query: map[string][]string{"gracePeriodSeconds": {"0"}}})
	if from.metadata {
		l.send(t, call{
			method: http.MethodPatch, path: fresh.path(), kind: string(types.MergePatchType), body: []byte(`{"metadata":{"finalizers":null}}`),
		})
	}
}

// varied returns a manifest with random changes that the server accepts in a new object.
func (r *round) varied(m *manifest, n int) *manifest {
	return r.variedUntil(m, n, func(candidate *manifest) bool {
		return r.create(r, candidate, call{query: managedBy("test", "dryRun", "All"), body: candidate.object}).stored()
	})
}

func (r *round) variedUntil(m *manifest, n int, accepts func(*manifest) bool) *manifest {
	if m.model == nil {
		return m
	}
	for range n {
		candidate := m.copied()
		if r.mutate(candidate.object, m.model) && !isForController(candidate.object) && accepts(candidate) {
			m = candidate
		}
	}
	return m
}

// note records a step for the message of a failure.
func (r *round) note(step string, v any) {
	text, err := yaml.Marshal(v)
	if err != nil {
		r.Fatal(err)
	}
	fmt.Fprintf(&r.log, "--- %s\n%s", step, text)
}

func (r *round) fail(format string, args ...any) {
	r.Helper()
	r.Errorf("%s: %s\n%s", r.name, fmt.Sprintf(format, args...), r.log.String())
}

var (
	longLine  = regexp.MustCompile("^(?:WARNING: )?`[^`]+` (?:changed|is changing) the resource .+? field (.+?) value from ")
	takesLine = regexp.MustCompile("^WARNING: `kubectl apply` takes over .+? field (.+?)\\.  This field")
	shortLine = regexp.MustCompile(`^[^ ]+(?: -n [^ ]+)? (\.\S.*?): .* → `)
	ownLine   = regexp.MustCompile("ownership not checked|fields of the resource")
	moreLine  = regexp.MustCompile(`^and \d+ more fields? of `)
)

// warned is what the warnings of one write say.
type warned struct {
	fields []string
	// cut means that not all fields are named.
	cut bool
}

func read(lines []string) warned {
	var w warned
	for _, line := range lines {
		for _, form := range []*regexp.Regexp{longLine, takesLine, shortLine} {
			if match := form.FindStringSubmatch(line); match != nil {
				w.fields = append(w.fields, match[1])
				break
			}
		}
		w.cut = w.cut || moreLine.MatchString(line)
	}
	return w
}

// covers says whether one of the fields is the field at path, a part of it, or has it as
// a part.
func (w warned) covers(path string) bool {
	for _, f := range w.fields {
		if isPartOf(f, path) || isPartOf(path, f) {
			return true
		}
	}
	return w.cut
}

// furtherKeys matches all keys of an item but the first. Client-side and server-side apply
// use different keys.
var furtherKeys = regexp.MustCompile(`,\w+=("[^"]*"|[^],]*)`)

func isPartOf(path, whole string) bool {
	path, whole = furtherKeys.ReplaceAllString(path, ""), furtherKeys.ReplaceAllString(whole, "")
	more, ok := strings.CutPrefix(path, whole)
	return ok && (more == "" || more[0] == '.' || more[0] == '[')
}

// ownershipWarnings leaves out the warnings of Kubernetes about deprecated fields.
func ownershipWarnings(lines []string) []string {
	var out []string
	for _, line := range lines {
		if len(read([]string{line}).fields) > 0 || ownLine.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

// changed returns the fields that differ between two objects.
func changed(m *manifest, before, after map[string]any) []string {
	var out []string
	for _, path := range m.typ.Changed(withoutEmptyMaps(before), withoutEmptyMaps(after), 1000) {
		out = append(out, path.String())
	}
	return out
}

// withoutEmptyMaps returns an object without empty labels and annotations, which are no
// difference, and without the annotation in which the server counts the templates of a DaemonSet.
func withoutEmptyMaps(obj map[string]any) map[string]any {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
	if len(u.GetLabels()) == 0 {
		u.SetLabels(nil)
	}
	annotations := u.GetAnnotations()
	delete(annotations, appsv1.DeprecatedTemplateGeneration)
	u.SetAnnotations(annotations)
	if len(annotations) == 0 {
		u.SetAnnotations(nil)
	}
	return u.Object
}
