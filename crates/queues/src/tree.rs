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

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node<const N: usize> {
    key: i64,
    rank: i64,
    own: [i64; N],
    least: [i64; N],
    parent: u32,
    left: u32,
    right: u32,
    height: u8,
}

/// The links, keys and values of all items.
#[derive(Clone, Debug)]
pub struct Nodes<const N: usize>(Vec<Node<N>>);

impl<const N: usize> Default for Nodes<N> {
    fn default() -> Self {
        Nodes(Vec::new())
    }
}

impl<const N: usize> Nodes<N> {
    /// Makes room for items `0..count`.
    pub fn reserve(&mut self, count: usize) {
        let empty =
            Node { key: 0, rank: 0, own: [0; N], least: [0; N], parent: NONE, left: NONE, right: NONE, height: 1 };
        if count > self.0.len() {
            self.0.resize(count, empty);
        }
    }

    /// The key under which `item` was last inserted.
    #[inline]
    #[must_use]
    pub fn key(&self, item: u32) -> i64 {
        self.0[item as usize].key
    }

    /// The values with which `item` was last inserted.
    #[inline]
    #[must_use]
    pub fn values(&self, item: u32) -> [i64; N] {
        self.0[item as usize].own
    }

    #[inline]
    fn at(&self, item: u32) -> &Node<N> {
        &self.0[item as usize]
    }

    #[inline]
    fn at_mut(&mut self, item: u32) -> &mut Node<N> {
        &mut self.0[item as usize]
    }

    #[inline]
    fn height(&self, item: u32) -> u8 {
        if item == NONE { 0 } else { self.at(item).height }
    }

    /// Recomputes height and minima of `item` from its children; whether anything changed.
    #[inline]
    fn refresh(&mut self, item: u32) -> bool {
        let node = *self.at(item);
        let mut least = node.own;
        let mut height = 0;
        for child in [node.left, node.right] {
            if child != NONE {
                let below = self.at(child);
                height = height.max(below.height);
                for (mine, theirs) in least.iter_mut().zip(below.least) {
                    *mine = (*mine).min(theirs);
                }
            }
        }
        let node = self.at_mut(item);
        let changed = node.height != height + 1 || node.least != least;
        node.height = height + 1;
        node.least = least;
        changed
    }
}

/// One tree: its root, its first item and its size.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    root: u32,
    first: u32,
    len: u32,
}

impl Default for Tree {
    fn default() -> Self {
        Tree { root: NONE, first: NONE, len: 0 }
    }
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
        (self.first != NONE).then_some(self.first)
    }

    /// The smallest value number `which` in the tree.
    #[inline]
    #[must_use]
    pub fn least<const N: usize>(&self, nodes: &Nodes<N>, which: usize) -> Option<i64> {
        (self.root != NONE).then(|| nodes.at(self.root).least[which])
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
        let (mut parent, mut at, mut leftmost, mut to_left, mut levels) = (NONE, self.root, true, false, 1);
        while at != NONE {
            let node = nodes.at(at);
            parent = at;
            to_left = (key, rank) < (node.key, node.rank);
            leftmost &= to_left;
            at = if to_left { node.left } else { node.right };
            levels += 1;
        }
        *nodes.at_mut(item) =
            Node { key, rank, own: values, least: values, parent, left: NONE, right: NONE, height: 1 };
        if leftmost {
            self.first = item;
        }
        self.len += 1;
        match (parent, to_left) {
            (NONE, _) => self.root = item,
            (p, true) => nodes.at_mut(p).left = item,
            (p, false) => nodes.at_mut(p).right = item,
        }
        self.rebalance(nodes, parent);
        levels
    }

    /// Takes `item`, which must be in this tree, out of it. Answers the levels visited.
    pub fn remove<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32) -> u32 {
        if self.first == item {
            self.first = self.next(nodes, item).unwrap_or(NONE);
        }
        self.len -= 1;
        let Node { left, right, parent, .. } = *nodes.at(item);
        if left == NONE || right == NONE {
            let child = if left == NONE { right } else { left };
            self.replace(nodes, parent, item, child);
            return 1 + self.rebalance(nodes, parent);
        }
        let mut heir = right;
        while nodes.at(heir).left != NONE {
            heir = nodes.at(heir).left;
        }
        let Node { parent: heir_parent, right: heir_right, .. } = *nodes.at(heir);
        let lowest = if heir_parent == item {
            heir
        } else {
            self.replace(nodes, heir_parent, heir, heir_right);
            nodes.at_mut(heir).right = right;
            nodes.at_mut(right).parent = heir;
            heir_parent
        };
        nodes.at_mut(heir).left = left;
        nodes.at_mut(left).parent = heir;
        // The heir takes over what its ancestors know of the place, so that the way up sees what changed. The
        // way up from below may end before it reaches the heir, hence the second start.
        let Node { height, least, .. } = *nodes.at(item);
        nodes.at_mut(heir).height = height;
        nodes.at_mut(heir).least = least;
        self.replace(nodes, parent, item, heir);
        let levels = if lowest == heir { 1 } else { 1 + self.rebalance(nodes, lowest) };
        levels + self.rebalance(nodes, heir)
    }

    /// The item after `item` in key order.
    #[must_use]
    pub fn next<const N: usize>(&self, nodes: &Nodes<N>, item: u32) -> Option<u32> {
        let mut at = nodes.at(item).right;
        if at != NONE {
            while nodes.at(at).left != NONE {
                at = nodes.at(at).left;
            }
            return Some(at);
        }
        let mut child = item;
        at = nodes.at(item).parent;
        while at != NONE && nodes.at(at).right == child {
            child = at;
            at = nodes.at(at).parent;
        }
        (at != NONE).then_some(at)
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
        let (mut at, mut levels) = (self.root, 0);
        while at != NONE {
            levels += 1;
            let node = nodes.at(at);
            if node.left != NONE && allowed(nodes.at(node.left).least[which]) {
                at = node.left;
            } else if allowed(node.own[which]) {
                return (Some(at), levels);
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
    fn replace<const N: usize>(&mut self, nodes: &mut Nodes<N>, parent: u32, old: u32, new: u32) {
        if parent == NONE {
            self.root = new;
        } else if nodes.at(parent).left == old {
            nodes.at_mut(parent).left = new;
        } else {
            nodes.at_mut(parent).right = new;
        }
        if new != NONE {
            nodes.at_mut(new).parent = parent;
        }
    }

    /// Repairs heights and minima from `item` upwards, as far as they change. Answers the levels visited.
    fn rebalance<const N: usize>(&mut self, nodes: &mut Nodes<N>, mut item: u32) -> u32 {
        let mut levels = 0;
        while item != NONE {
            levels += 1;
            let changed = nodes.refresh(item);
            let Node { left, right, .. } = *nodes.at(item);
            let lean = i16::from(nodes.height(left)) - i16::from(nodes.height(right));
            let top = match lean {
                2 => self.lift_left(nodes, item, left),
                -2 => self.lift_right(nodes, item, right),
                _ if !changed => break,
                _ => item,
            };
            item = nodes.at(top).parent;
        }
        levels
    }

    /// The left side of `item` is two higher: `left` or its right child becomes the top.
    fn lift_left<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32, left: u32) -> u32 {
        let Node { left: outer, right: inner, .. } = *nodes.at(left);
        if nodes.height(outer) < nodes.height(inner) {
            self.rotate_left(nodes, left, inner);
            return self.rotate_right(nodes, item, inner);
        }
        self.rotate_right(nodes, item, left)
    }

    /// The right side of `item` is two higher: `right` or its left child becomes the top.
    fn lift_right<const N: usize>(&mut self, nodes: &mut Nodes<N>, item: u32, right: u32) -> u32 {
        let Node { left: inner, right: outer, .. } = *nodes.at(right);
        if nodes.height(outer) < nodes.height(inner) {
            self.rotate_right(nodes, right, inner);
            return self.rotate_left(nodes, item, inner);
        }
        self.rotate_left(nodes, item, right)
    }

    fn rotate_right<const N: usize>(&mut self, nodes: &mut Nodes<N>, top: u32, left: u32) -> u32 {
        let (parent, inner) = (nodes.at(top).parent, nodes.at(left).right);
        self.replace(nodes, parent, top, left);
        nodes.at_mut(left).right = top;
        nodes.at_mut(top).parent = left;
        nodes.at_mut(top).left = inner;
        if inner != NONE {
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
        nodes.at_mut(top).parent = right;
        nodes.at_mut(top).right = inner;
        if inner != NONE {
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

    /// Checks links, minima and balance below `item`; returns its height.
    fn sound(nodes: &Nodes<1>, item: u32, parent: u32) -> u8 {
        if item == NONE {
            return 0;
        }
        let node = nodes.at(item);
        assert_eq!(node.parent, parent);
        let (l, r) = (sound(nodes, node.left, item), sound(nodes, node.right, item));
        assert!(l.abs_diff(r) <= 1);
        assert_eq!(node.height, l.max(r) + 1);
        let below = [node.left, node.right].into_iter().filter(|c| *c != NONE).map(|c| nodes.at(c).least[0]);
        assert_eq!(node.least[0], below.chain([node.own[0]]).min().unwrap());
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
            sound(&nodes, tree.root, NONE);
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
