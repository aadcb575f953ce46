//! An ordered tree with links in one vector, indexed by item. Items are ordered by a signed key, then by a rank
//! (0 unless given), then by insertion. Each item carries `N` values, and every subtree knows the smallest of each, so
//! that "the first item, in key order, that some subtree minimum allows" takes one descent.
//!
//! The tree is height-balanced (AVL): its height stays below 1.45 log2(n + 2). Removal and search answer how many
//! levels they visited, insertion how many a search from the root visits at most; at either end it needs none.
//!
//! ```
//! use goodness_queues::{Nodes, Tree};
//! let mut nodes = Nodes::<1>::default();
//! nodes.reserve(3);
//! let mut tree = Tree::default();
//! tree.insert(&mut nodes, 0, 30, [5]);
//! tree.insert(&mut nodes, 1, 10, [9]);
//! tree.insert(&mut nodes, 2, 20, [4]);
//! assert_eq!(tree.first(), Some(1));
//! assert_eq!(tree.first_where(&nodes, 0, |least| least < 6).0, Some(2));
//! ```

/// Index of the sentinel: height 0, minima above any value. Its parent is written wherever a branch would have to find
/// out whether there is a child, and never read. Item `i` has index `i + 1`.
const NIL: u32 = 0;
/// Sides of a node: the left subtree comes before it.
const LEFT: usize = 0;
const RIGHT: usize = 1;

#[derive(Clone, Copy, Debug)]
struct Node<const N: usize> {
    order: i128,
    own: [i64; N],
    least: [i64; N],
    child: [u32; 2],
    parent: u32,
    height: u32,
}

impl<const N: usize> Node<N> {
    const SENTINEL: Node<N> =
        Node { order: 0, own: [i64::MAX; N], least: [i64::MAX; N], child: [NIL; 2], parent: NIL, height: 0 };
}

/// Key and rank as one number, which is compared without a branch.
#[inline]
fn order(key: i64, rank: i64) -> i128 {
    i128::from(key) << 64 | i128::from(rank.wrapping_sub(i64::MIN) as u64)
}

/// The smaller of each two. A loop: what makes arrays from closures is inlined only where it is compiled.
#[inline]
fn lesser<const N: usize>(mut a: [i64; N], b: [i64; N]) -> [i64; N] {
    for (a, b) in a.iter_mut().zip(&b) {
        *a = (*a).min(*b);
    }
    a
}

/// The links, keys and values of all items.
#[derive(Clone, Debug)]
pub struct Nodes<const N: usize>(Vec<Node<N>>);

impl<const N: usize> Default for Nodes<N> {
    fn default() -> Self {
        Nodes(vec![Node::SENTINEL])
    }
}

impl<const N: usize> Nodes<N> {
    /// Makes room for items `0..count`.
    pub fn reserve(&mut self, count: usize) {
        if count >= self.0.len() {
            self.0.resize(count + 1, Node::SENTINEL);
        }
    }

    /// The key under which `item` was last inserted.
    #[inline]
    #[must_use]
    pub fn key(&self, item: u32) -> i64 {
        (self.at(item + 1).order >> 64) as i64
    }

    #[inline]
    fn at(&self, place: u32) -> &Node<N> {
        &self.0[place as usize]
    }

    #[inline]
    fn at_mut(&mut self, place: u32) -> &mut Node<N> {
        &mut self.0[place as usize]
    }

    /// Recomputes height and minima of `place` from its children. Returns by how much the left child is higher, and
    /// whether anything changed.
    #[inline]
    fn refresh(&mut self, place: u32) -> (i32, bool) {
        let node = self.at(place);
        let (left, right) = (self.at(node.child[LEFT]), self.at(node.child[RIGHT]));
        let lean = left.height as i32 - right.height as i32;
        let height = left.height.max(right.height) + 1;
        let least = lesser(node.own, lesser(left.least, right.least));
        let node = self.at_mut(place);
        let changed = (node.height != height) | (node.least != least);
        node.height = height;
        node.least = least;
        (lean, changed)
    }

    /// The outermost node on `SIDE` in the subtree of `place`.
    #[inline]
    fn outermost<const SIDE: usize>(&self, mut place: u32) -> u32 {
        loop {
            let further = self.at(place).child[SIDE];
            if further == NIL {
                return place;
            }
            place = further;
        }
    }

    /// Neighbour of `item` on `SIDE`, whose opposite is `BACK`.
    #[inline]
    fn neighbour<const SIDE: usize, const BACK: usize>(&self, item: u32) -> Option<u32> {
        let mut child = item + 1;
        let node = self.at(child);
        if node.child[SIDE] != NIL {
            return Some(self.outermost::<BACK>(node.child[SIDE]) - 1);
        }
        let mut at = node.parent;
        while at != NIL && self.at(at).child[SIDE] == child {
            child = at;
            at = self.at(at).parent;
        }
        at.checked_sub(1)
    }

    /// Lowers the minima of `place` and its ancestors to at most `values`.
    #[inline]
    fn lower(&mut self, mut place: u32, values: [i64; N]) {
        while place != NIL {
            let node = self.at_mut(place);
            let least = lesser(node.least, values);
            if node.least == least {
                return;
            }
            node.least = least;
            place = node.parent;
        }
    }
}

/// One tree: root, first and last item, size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tree {
    root: u32,
    first: u32,
    last: u32,
    len: u32,
}

impl Tree {
    /// Items in the tree.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the tree has no item.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item with the smallest key.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.first.checked_sub(1)
    }

    /// The item with the largest key, the one inserted last of equals.
    #[inline]
    #[must_use]
    pub fn last(&self) -> Option<u32> {
        self.last.checked_sub(1)
    }

    /// The smallest value number `which` in the tree.
    #[inline]
    #[must_use]
    pub fn least<const N: usize>(&self, nodes: &Nodes<N>, which: usize) -> Option<i64> {
        (self.root != NIL).then(|| nodes.at(self.root).least[which])
    }

    /// Adds `item`, which must be in no tree of these nodes, behind its equals. Returns the height: the most levels a
    /// search visits.
    pub fn insert<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32, key: i64, values: [i64; N]) -> u32 {
        self.insert_ranked(nodes, item, key, 0, values)
    }

    /// Like [`Tree::insert`], with a rank that orders items of equal key.
    pub fn insert_ranked<const N: usize>(
        &mut self,
        nodes: &mut Nodes<N>,
        item: u32,
        key: i64,
        rank: i64,
        values: [i64; N],
    ) -> u32 {
        let order = order(key, rank);
        let place = item + 1;
        let mut node = Node { order, own: values, least: values, child: [NIL; 2], parent: NIL, height: 1 };
        self.len += 1;
        if self.root == NIL {
            *nodes.at_mut(place) = node;
            (self.root, self.first, self.last) = (place, place, place);
            return 1;
        }
        let levels = nodes.at(self.root).height + 1;
        let side = self.find_parent(nodes, &mut node, place);
        *nodes.at_mut(place) = node;
        nodes.at_mut(node.parent).child[side] = place;
        self.grow(nodes, node.parent);
        levels
    }

    /// Adds `item`, which must be in no tree of these nodes, directly behind `before` in this tree. Its key must lie
    /// between those of `before` and its successor.
    pub fn insert_behind<const N: usize>(
        &mut self,
        nodes: &mut Nodes<N>,
        before: u32,
        item: u32,
        key: i64,
        values: [i64; N],
    ) {
        let (place, before) = (item + 1, before + 1);
        let right = nodes.at(before).child[RIGHT];
        let (parent, side) = if right == NIL { (before, RIGHT) } else { (nodes.outermost::<LEFT>(right), LEFT) };
        if self.last == before {
            self.last = place;
        }
        self.len += 1;
        let order = order(key, 0);
        *nodes.at_mut(place) = Node { order, own: values, least: values, child: [NIL; 2], parent, height: 1 };
        nodes.at_mut(parent).child[side] = place;
        nodes.lower(parent, values);
        self.grow(nodes, parent);
    }

    /// Finds the parent of a new `node` and its side, and lowers the minima of all ancestors. Nodes that come first or
    /// last, a common case, need no search.
    #[inline]
    fn find_parent<const N: usize>(&mut self, nodes: &mut Nodes<N>, node: &mut Node<N>, place: u32) -> usize {
        let end = if node.order >= nodes.at(self.last).order {
            node.parent = std::mem::replace(&mut self.last, place);
            RIGHT
        } else if node.order < nodes.at(self.first).order {
            node.parent = std::mem::replace(&mut self.first, place);
            LEFT
        } else {
            return self.descend(nodes, node);
        };
        nodes.lower(node.parent, node.own);
        end
    }

    /// Like `find_parent`, from the root downwards. Two exits keep the branches: branch prediction is faster here than
    /// waiting for the comparison.
    #[inline]
    fn descend<const N: usize>(&self, nodes: &mut Nodes<N>, new: &mut Node<N>) -> usize {
        let mut at = self.root;
        loop {
            let node = nodes.at_mut(at);
            node.least = lesser(node.least, new.own);
            new.parent = at;
            if new.order < node.order {
                at = node.child[LEFT];
                if at == NIL {
                    return LEFT;
                }
            } else {
                at = node.child[RIGHT];
                if at == NIL {
                    return RIGHT;
                }
            }
        }
    }

    /// Removes `item`, which must be in this tree. Returns the number of levels visited.
    pub fn remove<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32) -> u32 {
        let place = item + 1;
        let Node { child: [left, right], parent, height, least, .. } = *nodes.at(place);
        if self.first == place {
            self.first = if right == NIL { parent } else { nodes.outermost::<LEFT>(right) };
        }
        if self.last == place {
            self.last = if left == NIL { parent } else { nodes.outermost::<RIGHT>(left) };
        }
        self.len -= 1;
        if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            self.replace(nodes, parent, place, child);
            return 1 + self.rebalance(nodes, parent);
        }
        let heir = nodes.outermost::<LEFT>(right);
        let Node { parent: heir_parent, child: [_, heir_right], .. } = *nodes.at(heir);
        if heir_parent != place {
            self.replace(nodes, heir_parent, heir, heir_right);
            nodes.at_mut(heir).child[RIGHT] = right;
            nodes.at_mut(right).parent = heir;
        }
        nodes.at_mut(left).parent = heir;
        // The heir takes over what its ancestors know of the place, so that the way up sees what changed. The
        // way up from below may end before it reaches the heir, hence the second start.
        let node = nodes.at_mut(heir);
        node.child[LEFT] = left;
        node.height = height;
        node.least = least;
        self.replace(nodes, parent, place, heir);
        let levels = if heir_parent == place { 1 } else { 1 + self.rebalance(nodes, heir_parent) };
        levels + self.rebalance(nodes, heir)
    }

    /// The item after `item` in key order.
    #[must_use]
    pub fn next<const N: usize>(&self, nodes: &Nodes<N>, item: u32) -> Option<u32> {
        nodes.neighbour::<RIGHT, LEFT>(item)
    }

    /// The item before `item` in key order.
    #[must_use]
    pub fn prev<const N: usize>(&self, nodes: &Nodes<N>, item: u32) -> Option<u32> {
        nodes.neighbour::<LEFT, RIGHT>(item)
    }

    /// The first item whose key is at least `key`.
    #[must_use]
    pub fn first_from<const N: usize>(&self, nodes: &Nodes<N>, key: i64) -> Option<u32> {
        let wanted = order(key, i64::MIN);
        let (mut at, mut found) = (self.root, NIL);
        while at != NIL {
            let node = nodes.at(at);
            let is_before = node.order < wanted;
            found = if is_before { found } else { at };
            at = node.child[usize::from(is_before)];
        }
        found.checked_sub(1)
    }

    /// The last item whose key is below `key`.
    #[inline]
    #[must_use]
    pub fn last_before<const N: usize>(&self, nodes: &Nodes<N>, key: i64) -> Option<u32> {
        self.last_below(nodes, order(key, i64::MIN))
    }

    /// The last item whose key is at most `key`; ranks must be below the maximum.
    #[inline]
    #[must_use]
    pub fn last_to<const N: usize>(&self, nodes: &Nodes<N>, key: i64) -> Option<u32> {
        self.last_below(nodes, order(key, i64::MAX))
    }

    #[inline]
    fn last_below<const N: usize>(&self, nodes: &Nodes<N>, bound: i128) -> Option<u32> {
        let (mut at, mut found) = (self.root, NIL);
        while at != NIL {
            let node = nodes.at(at);
            let is_below = node.order < bound;
            found = if is_below { at } else { found };
            at = node.child[usize::from(is_below)];
        }
        found.checked_sub(1)
    }

    /// The first item in key order whose value number `which` satisfies `allowed`, and the number of levels visited.
    ///
    /// `allowed` must be monotone: true for every value below an allowed one.
    #[inline]
    #[must_use]
    pub fn first_where<const N: usize>(
        &self,
        nodes: &Nodes<N>,
        which: usize,
        allowed: impl Fn(i64) -> bool,
    ) -> (Option<u32>, u32) {
        if self.first != NIL && allowed(nodes.at(self.first).own[which]) {
            return (Some(self.first - 1), 1);
        }
        let (mut at, mut levels) = (self.root, 1);
        while at != NIL {
            levels += 1;
            let node = nodes.at(at);
            let [left, right] = node.child;
            if left != NIL && allowed(nodes.at(left).least[which]) {
                at = left;
            } else if allowed(node.own[which]) {
                return (Some(at - 1), levels);
            } else {
                at = right;
            }
        }
        (None, levels)
    }

    /// All items in key order.
    pub fn iter<'a, const N: usize>(&'a self, nodes: &'a Nodes<N>) -> impl Iterator<Item = u32> + use<'a, N> {
        std::iter::successors(self.first(), |item| self.next(nodes, *item))
    }

    /// Makes `new` the child of `parent` in place of `old`.
    #[inline]
    fn replace<const N: usize>(&mut self, nodes: &mut Nodes<N>, parent: u32, old: u32, new: u32) {
        if parent == NIL {
            self.root = new;
        } else {
            let side = if nodes.at(parent).child[LEFT] == old { LEFT } else { RIGHT };
            nodes.at_mut(parent).child[side] = new;
        }
        nodes.at_mut(new).parent = parent;
    }

    /// Rebalances from `place` upwards after an insertion. The minima are up to date already.
    #[inline]
    fn grow<const N: usize>(&mut self, nodes: &mut Nodes<N>, mut place: u32) {
        while place != NIL {
            let Node { child: [left, right], height: before, parent, .. } = *nodes.at(place);
            let (l, r) = (nodes.at(left).height, nodes.at(right).height);
            if l > r + 1 {
                self.lift::<N, LEFT>(nodes, place);
                return;
            }
            if r > l + 1 {
                self.lift::<N, RIGHT>(nodes, place);
                return;
            }
            let height = l.max(r) + 1;
            if height == before {
                return;
            }
            nodes.at_mut(place).height = height;
            place = parent;
        }
    }

    /// Repairs heights and minima from `place` upwards while they change. Returns the number of levels visited.
    fn rebalance<const N: usize>(&mut self, nodes: &mut Nodes<N>, mut place: u32) -> u32 {
        let mut levels = 0;
        while place != NIL {
            levels += 1;
            let (lean, changed) = nodes.refresh(place);
            let top = match lean {
                2 => self.lift::<N, LEFT>(nodes, place),
                -2 => self.lift::<N, RIGHT>(nodes, place),
                _ if !changed => break,
                _ => place,
            };
            place = nodes.at(top).parent;
        }
        levels
    }

    /// Rebalances `top`, whose `SIDE` is two higher: that child, or its inner child, becomes the top.
    fn lift<const N: usize, const SIDE: usize>(&mut self, nodes: &mut Nodes<N>, top: u32) -> u32 {
        let child = nodes.at(top).child[SIDE];
        let below = nodes.at(child).child;
        if nodes.at(below[SIDE]).height < nodes.at(below[1 - SIDE]).height {
            match SIDE {
                LEFT => self.rotate::<N, RIGHT>(nodes, child),
                _ => self.rotate::<N, LEFT>(nodes, child),
            };
        }
        self.rotate::<N, SIDE>(nodes, top)
    }

    /// Rotates: the child of `top` on `SIDE` moves up and is returned, `top` moves below it.
    #[inline(always)]
    fn rotate<const N: usize, const SIDE: usize>(&mut self, nodes: &mut Nodes<N>, top: u32) -> u32 {
        let Node { child, parent, least, .. } = *nodes.at(top);
        let rising = child[SIDE];
        let Node { child: grandchildren, .. } = *nodes.at(rising);
        let (outer, inner) = (grandchildren[SIDE], grandchildren[1 - SIDE]);
        self.replace(nodes, parent, top, rising);
        let node = nodes.at_mut(top);
        node.parent = rising;
        node.child[SIDE] = inner;
        nodes.at_mut(inner).parent = top;
        nodes.refresh(top);
        let height = nodes.at(top).height.max(nodes.at(outer).height) + 1;
        let node = nodes.at_mut(rising);
        node.child[1 - SIDE] = top;
        node.height = height;
        // The same items as before lie at and below this place.
        node.least = least;
        rising
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks links, minima and balance below `place`. Returns its height.
    fn sound(nodes: &Nodes<1>, place: u32, parent: u32) -> u32 {
        if place == NIL {
            return 0;
        }
        let node = nodes.at(place);
        assert_eq!(node.parent, parent);
        let (l, r) = (sound(nodes, node.child[LEFT], place), sound(nodes, node.child[RIGHT], place));
        assert!(l.abs_diff(r) <= 1);
        assert_eq!(node.height, l.max(r) + 1);
        let below = node.child.map(|child| nodes.at(child).least[0]);
        assert_eq!(node.least[0], node.own[0].min(below[0]).min(below[1]));
        node.height
    }

    fn next_random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    #[test]
    fn a_tree_agrees_with_a_sorted_list_under_random_insertions_and_removals() {
        let (mut nodes, mut tree, mut state) = (Nodes::<1>::default(), Tree::default(), 7);
        nodes.reserve(200);
        let mut list: Vec<(i64, u64, u32)> = Vec::new();
        for step in 0..8000u64 {
            let item = (next_random(&mut state) % 200) as u32;
            if let Some(place) = list.iter().position(|e| e.2 == item) {
                list.remove(place);
                tree.remove(&mut nodes, item);
            } else {
                let key = (next_random(&mut state) % 50) as i64;
                let value = (next_random(&mut state) % 100) as i64;
                list.push((key, step, item));
                list.sort_unstable();
                tree.insert(&mut nodes, item, key, [value]);
            }
            sound(&nodes, tree.root, NIL);
            assert!(tree.iter(&nodes).eq(list.iter().map(|e| e.2)));
            assert_eq!(tree.last(), list.last().map(|e| e.2));
            let back = std::iter::successors(tree.last(), |item| tree.prev(&nodes, *item));
            assert!(back.eq(list.iter().rev().map(|e| e.2)));
            let from = (next_random(&mut state) % 52) as i64;
            assert_eq!(tree.first_from(&nodes, from), list.iter().find(|e| e.0 >= from).map(|e| e.2));
            assert_eq!(tree.last_before(&nodes, from), list.iter().rev().find(|e| e.0 < from).map(|e| e.2));
            assert_eq!(tree.last_to(&nodes, from), list.iter().rev().find(|e| e.0 <= from).map(|e| e.2));
            let bound = (next_random(&mut state) % 100) as i64;
            let expected = list.iter().map(|e| e.2).find(|i| nodes.at(*i + 1).own[0] <= bound);
            assert_eq!(tree.first_where(&nodes, 0, |v| v <= bound).0, expected);
            assert_eq!(tree.len(), list.len());
        }
    }

    #[test]
    fn equal_keys_are_ordered_by_rank_and_then_by_insertion() {
        let (mut nodes, mut tree) = (Nodes::<0>::default(), Tree::default());
        nodes.reserve(5);
        tree.insert(&mut nodes, 0, 5, []);
        tree.insert(&mut nodes, 1, 5, []);
        tree.insert_ranked(&mut nodes, 2, 5, -1, []);
        tree.insert_ranked(&mut nodes, 4, 5, -1, []);
        tree.insert(&mut nodes, 3, 4, []);
        assert!(tree.iter(&nodes).eq([3, 2, 4, 0, 1]));
    }

    #[test]
    fn an_item_put_behind_another_is_the_next_and_the_tree_stays_balanced() {
        let (mut nodes, mut tree, mut state) = (Nodes::<1>::default(), Tree::default(), 3);
        nodes.reserve(500);
        tree.insert(&mut nodes, 0, 0, [7]);
        let mut list = vec![0];
        for item in 1..500 {
            let place = (next_random(&mut state) % list.len() as u64) as usize;
            let value = (next_random(&mut state) % 100) as i64;
            tree.insert_behind(&mut nodes, list[place], item, 0, [value]);
            list.insert(place + 1, item);
            sound(&nodes, tree.root, NIL);
            assert!(tree.iter(&nodes).eq(list.iter().copied()));
            assert_eq!((tree.last(), tree.len()), (list.last().copied(), list.len()));
        }
    }

    #[test]
    fn levels_visited_grow_with_the_logarithm() {
        let (mut nodes, mut tree) = (Nodes::<1>::default(), Tree::default());
        nodes.reserve(100_000);
        let deepest = (0..100_000).map(|i| tree.insert(&mut nodes, i, i64::from(i), [0])).max().unwrap();
        assert!(deepest <= 1 + 17 * 145 / 100, "{deepest} levels");
    }
}
