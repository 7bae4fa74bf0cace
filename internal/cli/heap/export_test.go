package heap

import "time"

// LimitOf and ShrinkEvery export limit and shrink.
var (
	LimitOf     = limit
	ShrinkEvery = shrink
)

// Usage is usage for tests.
type Usage struct{ Allocated, Live, Pointers, Objects, Free uint64 }

func (u Usage) usage() usage { return usage{u.Allocated, u.Live, u.Pointers, u.Objects, u.Free} }

// PercentOf exports percentOf.
func PercentOf(u Usage, perSecond float64) int { return percentOf(u.usage(), perSecond) }

// Shrinker is a shrinker to which a test gives the times.
type Shrinker struct{ s shrinker }

// Look shows the shrinker the heap at a time, and reports whether it returns memory.
func (s *Shrinker) Look(u Usage, now time.Time) bool {
	worthwhile := s.s.worthwhile(u.usage(), now)
	if worthwhile {
		s.s.returned(now)
	}
	return worthwhile
}
