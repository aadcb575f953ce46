//! An ordered tree with links in one vector, indexed by item. Items are ordered by a signed key, then by a rank
//! (0 unless given), then by insertion. Each item carries `N` values, and every subtree knows the smallest of each, so
//! that "the first item, in key order, that some subtree minimum allows" takes one descent.
//!
//! The tree is height-balanced (AVL): its height stays below 1.45 log2(n + 2). Insertion, removal and search
//! answer how many levels they visited.
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

/// The place of the sentinel: height 0, minima larger than any value. Item `i` lies at place `i + 1`.
const NIL: u32 = 0;

#[derive(Clone, Copy, Debug)]
struct Node<const N: usize> {
    key: i64,
    rank: i64,
    own: [i64; N],
    least: [i64; N],
    parent: u32,
    left: u32,
    right: u32,
    height: u32,
}

impl<const N: usize> Node<N> {
    const SENTINEL: Node<N> = Node {
        key: 0,
        rank: 0,
        own: [i64::MAX; N],
        least: [i64::MAX; N],
        parent: NIL,
        left: NIL,
        right: NIL,
        height: 0,
    };
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
        self.at(item + 1).key
    }

    /// The values with which `item` was last inserted.
    #[inline]
    #[must_use]
    pub fn values(&self, item: u32) -> [i64; N] {
        self.at(item + 1).own
    }

    #[inline]
    fn at(&self, place: u32) -> &Node<N> {
        &self.0[place as usize]
    }

    #[inline]
    fn at_mut(&mut self, place: u32) -> &mut Node<N> {
        &mut self.0[place as usize]
    }

    /// Recomputes height and minima of `place` from its children: how much higher the left one is, and whether
    /// anything changed.
    #[inline]
    fn refresh(&mut self, place: u32) -> (i32, bool) {
        let node = self.at(place);
        let (left, right) = (self.at(node.left), self.at(node.right));
        let lean = left.height as i32 - right.height as i32;
        let height = left.height.max(right.height) + 1;
        let least = std::array::from_fn(|i| node.own[i].min(left.least[i]).min(right.least[i]));
        let node = self.at_mut(place);
        let changed = node.height != height || node.least != least;
        node.height = height;
        node.least = least;
        (lean, changed)
    }
}

/// One tree: its root, its first item and its size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tree {
    root: u32,
    first: u32,
    len: u32,
}

impl Tree {
    /// Items in the tree.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the tree has no item.
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

    /// The smallest value number `which` in the tree.
    #[inline]
    #[must_use]
    pub fn least<const N: usize>(&self, nodes: &Nodes<N>, which: usize) -> Option<i64> {
        (self.root != NIL).then(|| nodes.at(self.root).least[which])
    }

    /// Adds `item`, which must be in no tree of these nodes, after its equals. Answers the levels visited.
    pub fn insert<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32, key: i64, values: [i64; N]) -> u32 {
        self.insert_ranked(nodes, item, key, 0, values)
    }

    /// As [`Tree::insert`], with a rank that orders items of equal key.
    pub fn insert_ranked<const N: usize>(
        &mut self,
        nodes: &mut Nodes<N>,
        item: u32,
        key: i64,
        rank: i64,
        values: [i64; N],
    ) -> u32 {
        let (mut parent, mut at, mut leftmost, mut to_left, mut levels) = (NIL, self.root, true, false, 1);
        while at != NIL {
            let node = nodes.at_mut(at);
            for (least, value) in node.least.iter_mut().zip(values) {
                *least = (*least).min(value);
            }
            parent = at;
            to_left = key < node.key || (key == node.key && rank < node.rank);
            leftmost &= to_left;
            at = if to_left { node.left } else { node.right };
            levels += 1;
        }
        let place = item + 1;
        *nodes.at_mut(place) = Node { key, rank, own: values, least: values, parent, left: NIL, right: NIL, height: 1 };
        if leftmost {
            self.first = place;
        }
        self.len += 1;
        match (parent, to_left) {
            (NIL, _) => self.root = place,
            (p, true) => nodes.at_mut(p).left = place,
            (p, false) => nodes.at_mut(p).right = place,
        }
        self.grow(nodes, parent);
        levels
    }

    /// Takes `item`, which must be in this tree, out of it. Answers the levels visited.
    pub fn remove<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32) -> u32 {
        let place = item + 1;
        if self.first == place {
            self.first = self.next(nodes, item).map_or(NIL, |next| next + 1);
        }
        self.len -= 1;
        let Node { left, right, parent, height, least, .. } = *nodes.at(place);
        if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            self.replace(nodes, parent, place, child);
            return 1 + self.rebalance(nodes, parent);
        }
        let mut heir = right;
        while nodes.at(heir).left != NIL {
            heir = nodes.at(heir).left;
        }
        let Node { parent: heir_parent, right: heir_right, .. } = *nodes.at(heir);
        if heir_parent != place {
            self.replace(nodes, heir_parent, heir, heir_right);
            nodes.at_mut(heir).right = right;
            nodes.at_mut(right).parent = heir;
        }
        nodes.at_mut(heir).left = left;
        nodes.at_mut(left).parent = heir;
        // The heir takes over what its ancestors know of the place, so that the way up sees what changed. The
        // way up from below may end before it reaches the heir, hence the second start.
        nodes.at_mut(heir).height = height;
        nodes.at_mut(heir).least = least;
        self.replace(nodes, parent, place, heir);
        let levels = if heir_parent == place { 1 } else { 1 + self.rebalance(nodes, heir_parent) };
        levels + self.rebalance(nodes, heir)
    }

    /// Gives `item`, which must be in this tree, a new rank that leaves its place among its equals as it is.
    #[inline]
    pub fn set_rank<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32, rank: i64) {
        nodes.at_mut(item + 1).rank = rank;
    }

    /// Gives `item`, which must be in this tree, new values under its old key. Answers the levels visited.
    pub fn set_values<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32, values: [i64; N]) -> u32 {
        let mut place = item + 1;
        nodes.at_mut(place).own = values;
        let mut levels = 1;
        while place != NIL && nodes.refresh(place).1 {
            place = nodes.at(place).parent;
            levels += 1;
        }
        levels
    }

    /// The item after `item` in key order.
    #[must_use]
    pub fn next<const N: usize>(&self, nodes: &Nodes<N>, item: u32) -> Option<u32> {
        let mut child = item + 1;
        let mut at = nodes.at(child).right;
        if at != NIL {
            while nodes.at(at).left != NIL {
                at = nodes.at(at).left;
            }
            return Some(at - 1);
        }
        at = nodes.at(child).parent;
        while at != NIL && nodes.at(at).right == child {
            child = at;
            at = nodes.at(at).parent;
        }
        at.checked_sub(1)
    }

    /// The first item in key order whose value number `which` satisfies `allowed`, and the levels visited.
    ///
    /// `allowed` must be monotone: what it allows, it allows for every smaller value too.
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
            if node.left != NIL && allowed(nodes.at(node.left).least[which]) {
                at = node.left;
            } else if allowed(node.own[which]) {
                return (Some(at - 1), levels);
            } else {
                at = node.right;
            }
        }
        (None, levels)
    }

    /// All items in key order.
    pub fn iter<'a, const N: usize>(&'a self, nodes: &'a Nodes<N>) -> impl Iterator<Item = u32> + use<'a, N> {
        std::iter::successors(self.first(), |item| self.next(nodes, *item))
    }

    /// Puts `new` where `old` hung below `parent`.
    #[inline]
    fn replace<const N: usize>(&mut self, nodes: &mut Nodes<N>, parent: u32, old: u32, new: u32) {
        if parent == NIL {
            self.root = new;
        } else if nodes.at(parent).left == old {
            nodes.at_mut(parent).left = new;
        } else {
            nodes.at_mut(parent).right = new;
        }
        if new != NIL {
            nodes.at_mut(new).parent = parent;
        }
    }

    /// Repairs heights from `place` upwards after an insertion below it; the minima are right already.
    fn grow<const N: usize>(&mut self, nodes: &mut Nodes<N>, mut place: u32) {
        while place != NIL {
            let node = nodes.at(place);
            let (left, right) = (node.left, node.right);
            let (l, r) = (nodes.at(left).height, nodes.at(right).height);
            let height = l.max(r) + 1;
            if l > r + 1 {
                self.lift_left(nodes, place, left);
                return;
            }
            if r > l + 1 {
                self.lift_right(nodes, place, right);
                return;
            }
            let node = nodes.at_mut(place);
            if node.height == height {
                return;
            }
            node.height = height;
            place = node.parent;
        }
    }

    /// Repairs heights and minima from `place` upwards, as far as they change. Answers the levels visited.
    fn rebalance<const N: usize>(&mut self, nodes: &mut Nodes<N>, mut place: u32) -> u32 {
        let mut levels = 0;
        while place != NIL {
            levels += 1;
            let (lean, changed) = nodes.refresh(place);
            let top = match lean {
                2 => self.lift_left(nodes, place, nodes.at(place).left),
                -2 => self.lift_right(nodes, place, nodes.at(place).right),
                _ if !changed => break,
                _ => place,
            };
            place = nodes.at(top).parent;
        }
        levels
    }

    /// The left side of `place` is two higher: `left` or its right child becomes the top.
    fn lift_left<const N: usize>(&mut self, nodes: &mut Nodes<N>, place: u32, left: u32) -> u32 {
        let (outer, inner) = (nodes.at(left).left, nodes.at(left).right);
        if nodes.at(outer).height < nodes.at(inner).height {
            self.rotate_left(nodes, left, inner);
            return self.rotate_right(nodes, place, inner);
        }
        self.rotate_right(nodes, place, left)
    }

    /// The right side of `place` is two higher: `right` or its left child becomes the top.
    fn lift_right<const N: usize>(&mut self, nodes: &mut Nodes<N>, place: u32, right: u32) -> u32 {
        let (inner, outer) = (nodes.at(right).left, nodes.at(right).right);
        if nodes.at(outer).height < nodes.at(inner).height {
            self.rotate_right(nodes, right, inner);
            return self.rotate_left(nodes, place, inner);
        }
        self.rotate_left(nodes, place, right)
    }

    fn rotate_right<const N: usize>(&mut self, nodes: &mut Nodes<N>, top: u32, left: u32) -> u32 {
        let (parent, inner) = (nodes.at(top).parent, nodes.at(left).right);
        self.replace(nodes, parent, top, left);
        nodes.at_mut(left).right = top;
        let node = nodes.at_mut(top);
        node.parent = left;
        node.left = inner;
        if inner != NIL {
            nodes.at_mut(inner).parent = top;
        }
        nodes.refresh(top);
        nodes.refresh(left);
        left
    }

    fn rotate_left<const N: usize>(&mut self, nodes: &mut Nodes<N>, top: u32, right: u32) -> u32 {
        let (parent, inner) = (nodes.at(top).parent, nodes.at(right).left);
        self.replace(nodes, parent, top, right);
        nodes.at_mut(right).left = top;
        let node = nodes.at_mut(top);
        node.parent = right;
        node.right = inner;
        if inner != NIL {
            nodes.at_mut(inner).parent = top;
        }
        nodes.refresh(top);
        nodes.refresh(right);
        right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks links, minima and balance below `place`; returns its height.
    fn sound(nodes: &Nodes<1>, place: u32, parent: u32) -> u32 {
        if place == NIL {
            return 0;
        }
        let node = nodes.at(place);
        assert_eq!(node.parent, parent);
        let (l, r) = (sound(nodes, node.left, place), sound(nodes, node.right, place));
        assert!(l.abs_diff(r) <= 1);
        assert_eq!(node.height, l.max(r) + 1);
        let below = [node.left, node.right].map(|child| nodes.at(child).least[0]);
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
        for step in 0..4000u64 {
            let item = (next_random(&mut state) % 200) as u32;
            if step % 3 == 0
                && let Some(entry) = list.iter().find(|e| e.2 == item)
            {
                let value = (next_random(&mut state) % 100) as i64;
                tree.set_values(&mut nodes, entry.2, [value]);
            } else if let Some(place) = list.iter().position(|e| e.2 == item) {
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
            let bound = (next_random(&mut state) % 100) as i64;
            let expected = list.iter().map(|e| e.2).find(|i| nodes.values(*i)[0] <= bound);
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
    fn levels_visited_grow_with_the_logarithm() {
        let (mut nodes, mut tree) = (Nodes::<1>::default(), Tree::default());
        nodes.reserve(100_000);
        let deepest = (0..100_000).map(|i| tree.insert(&mut nodes, i, i64::from(i), [0])).max().unwrap();
        assert!(deepest <= 1 + 17 * 145 / 100, "{deepest} levels");
    }
}
