package conformance

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// Verdict says how a test ended.
type Verdict string

// The verdicts of a test that ran.
const (
	Passed  Verdict = "passes"
	Failed  Verdict = "fails"
	Skipped Verdict = "skips itself"
	Late    Verdict = "exceeds the time limit"
)

// Result is the end of one test on one server.
type Result struct {
	Verdict Verdict
	// Message is the failure, or the reason why the test skips itself.
	Message string `json:",omitempty"`
	// Seconds is how long the test took.
	Seconds float64
}

// testCase is an entry of a JUnit report of the e2e program.
type testCase struct {
	Name    string  `xml:"name,attr"`
	Status  string  `xml:"status,attr"`
	Seconds float64 `xml:"time,attr"`
	Skipped *struct {
		Message string `xml:"message,attr"`
	} `xml:"skipped"`
	Failure *struct {
		Text string `xml:",chardata"`
	} `xml:"failure"`
	Error *struct {
		Text string `xml:",chardata"`
	} `xml:"error"`
}

// readReport reads the results of the tests that ran, from a JUnit report.
func readReport(file string) (map[string]Result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var report struct {
		Cases []testCase `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	results := map[string]Result{}
	for _, c := range report.Cases {
		name, isTest := strings.CutPrefix(c.Name, "[It] ")
		if result, ran := c.result(); isTest && ran {
			results[name] = result
		}
	}
	return results, nil
}

// result returns the result, and whether the test ran: the report has an entry for every test of the program.
func (c *testCase) result() (Result, bool) {
	result := Result{Seconds: c.Seconds}
	switch {
	case c.Status == "passed":
		result.Verdict = Passed
		return result, true
	case c.Status == "skipped":
		reason, skipsItself := strings.CutPrefix(c.message(), "skipped - ")
		result.Verdict, result.Message = Skipped, reason
		return result, skipsItself
	case c.Status == "pending":
		return result, false
	case c.Status == "timedout" || c.Status == "interrupted":
		result.Verdict, result.Message = Late, firstLines(c.message())
		return result, true
	default:
		result.Verdict, result.Message = Failed, firstLines(c.message())
		return result, true
	}
}

func (c *testCase) message() string {
	switch {
	case c.Skipped != nil:
		return c.Skipped.Message
	case c.Failure != nil:
		return c.Failure.Text
	case c.Error != nil:
		return c.Error.Text
	}
	return ""
}

// firstLines shortens a failure, whose end is a stack.
func firstLines(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 600 {
		text = text[:600] + "..."
	}
	return text
}
