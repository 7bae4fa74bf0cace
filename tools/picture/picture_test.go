package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestPicture checks that the picture of the documents is well-formed, has the text of every
// box, and is what the text gives.
func TestPicture(t *testing.T) {
	text, err := os.Open("../../docs/write.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = text.Close() }()
	boxes, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var drawn strings.Builder
	if err := draw(&drawn, boxes); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(drawn.String()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range boxes {
		if !strings.Contains(drawn.String(), b.title) || !strings.Contains(drawn.String(), b.answer) {
			t.Errorf("%s is not in the picture", b.title)
		}
	}
	committed, err := os.ReadFile("../../docs/write.svg")
	if err != nil || string(committed) != drawn.String() {
		t.Errorf("docs/write.svg is not what docs/write.txt gives, run make generate (%v)", err)
	}
	if _, err := parse(strings.NewReader("step | title\n")); err == nil {
		t.Error("a line without a text must be an error")
	}
}
