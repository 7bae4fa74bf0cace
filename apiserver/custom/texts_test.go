package custom

import (
	"compress/gzip"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/apiserver/deflate"
)

func TestTextsStayWithinTheirBound(t *testing.T) {
	var cache texts
	first, second := &version{}, &version{}
	packed, err := deflate.NewPool(gzip.BestSpeed).Compress(make([]byte, maxText))
	if err != nil {
		t.Fatal(err)
	}
	text := cachedText{plain: make([]byte, maxText-packed.Len()), packed: packed}
	for i := range 3 * maxTexts / maxText {
		for _, v := range []*version{first, second} {
			cache.add(textKey{version: v, uid: types.UID(fmt.Sprint(i))}, text)
		}
		if sum := sizeOf(&cache); sum != cache.size || sum > maxTexts {
			t.Fatalf("after %d texts: %d bytes, counted %d, at most %d are allowed", i, sum, cache.size, maxTexts)
		}
	}
	large := textKey{version: first, uid: "large"}
	if cache.add(large, cachedText{plain: make([]byte, maxText), packed: packed}); cache.get(large, "").plain != nil {
		t.Error("a text larger than maxText is cached")
	}
	cache.drop(first)
	for key := range cache.entries {
		if key.version == first {
			t.Fatalf("the text of %s is still cached", key.uid)
		}
	}
	if cache.drop(second); cache.size != 0 || len(cache.entries) != 0 {
		t.Errorf("%d bytes in %d texts are left", cache.size, len(cache.entries))
	}
}

func sizeOf(cache *texts) int {
	sum := 0
	for _, text := range cache.entries {
		sum += len(text.plain) + text.packed.Len()
	}
	return sum
}
