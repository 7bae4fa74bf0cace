package heap

import "time"

const (
	// busyRoom is how much a busy process may allocate between two collections. One with little work may double its heap, up to quietRoom more.
	busyRoom  = 128 << 20
	quietRoom = 64 << 20
	// interval is the time between two collections that a process with a small heap gets, within busyRoom.
	interval = 10 * time.Second
	// scanned is how many bytes with pointers one core scans in a second. Go does not scan texts and other memory without pointers.
	scanned = 1 << 30
	// leastPart is the part of the memory with pointers that a process may allocate at least.
	leastPart = 4
	// share is the part of one core that collections may take before the heap may double: one in fifty.
	share = 50
	// leastPercent is the lowest percentage that Grow sets.
	leastPercent = 5
)

// percentOf returns by how many percent the heap may grow after a collection, if the process allocates so many bytes in a second.
func percentOf(u usage, perSecond float64) int {
	if u.live == 0 {
		return defaultPercent
	}
	return max(leastPercent, int(room(u, perSecond)*100/float64(u.live)))
}

// room returns how much a process may allocate until the next collection.
//
//   - A collection costs as much as the scan of the memory with pointers. If the heap may grow by that much, the collections cost a
//     millisecond for each MB that the process allocates. A large heap of a busy process therefore grows by its memory with pointers, which
//     is less than Go's default if the objects have long texts.
//   - With less work, collections may come sooner: as long as they take less than a share of one core. The garbage of a large heap is
//     then a quarter of its pointers, instead of as much as its objects.
//   - A small heap of a busy process may grow by busyRoom, so that it is not collected several times a second.
func room(u usage, perSecond float64) float64 {
	live, pointers := float64(u.live), float64(u.pointers)
	least := max(min(live, quietRoom), pointers/leastPart)
	most := max(pointers, busyRoom)
	wanted := max(min(perSecond*interval.Seconds(), busyRoom), perSecond*pointers*share/scanned)
	return min(max(wanted, least), most)
}
