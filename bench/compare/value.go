package compare

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Point is the value of a row whose name contains a number, such as the number of objects.
type Point struct {
	N     int
	Value float64
}

// Value returns the median of a row on the first side, which is Holdfast.
func (f *Figures) Value(section, name string) (float64, error) {
	for _, l := range f.Lines {
		if l.Section == section && l.Name == name {
			return l.medians()[0], nil
		}
	}
	return 0, fmt.Errorf("the figures have no row %q", section+": "+name)
}

// Points returns the values of the rows whose names have a number in the place of "#", in the order of the numbers. There is at least
// one.
func (f *Figures) Points(section, pattern string) ([]Point, error) {
	name := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), "#", `(\d+)`) + "$")
	var points []Point
	for _, l := range f.Lines {
		match := name.FindStringSubmatch(l.Name)
		if l.Section != section || match == nil {
			continue
		}
		n, err := strconv.Atoi(match[1])
		if err != nil {
			return nil, err
		}
		points = append(points, Point{N: n, Value: l.medians()[0]})
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("the figures have no row %q", section+": "+pattern)
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.N, b.N) })
	return points, nil
}
