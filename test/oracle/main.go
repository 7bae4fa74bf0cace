package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/capabilities"
)

func main() {
	// Validation logs what it would have answered with other feature gates.
	klog.SetLogger(klog.Logger{})
	// Clusters run with --allow-privileged.
	capabilities.Setup(true, 0)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// serve answers requests until the input ends.
func serve(in io.Reader, out io.Writer) error {
	o := newOracle()
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var request Request
		if err := requests.Decode(&request); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		if err := answers.Encode(o.answer(request)); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
}
