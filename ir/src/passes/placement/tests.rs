use expect_test::expect;

use crate::testing::check;

#[test]
fn a_counter_that_ends_a_loop_is_on_the_host() {
    check(
        r#"g (float[2] x, int64 n) => (float[2] y) {
            zero = Constant <value_int = 0> ()
            one = Constant <value_int = 1> ()
            start = Less (zero, n)
            y, k = Loop (, start, x, one) <body = b (int64 i, bool c, float[2] a, int64 j)
                => (bool d, float[2] r, int64 j2) {
                r = Neg (a)
                j2 = Add (j, j)
                d = Less (j2, n)
            }>
        }"#,
        expect![[r#"
            g (float32[2] x, host int64[] n) => (float32[2] y)
            <
                int64[] zero = {0},
                int64[] one = {1}
            >
            {
                host bool[] start = Less (zero, n)
                float32[2] y, _ = Loop (, start, x, one)
                    body (int64[] i, bool[] c, float32[2] a, host int64[] j) => (host bool[] d, float32[2] r, host int64[] j2)
                    {
                        float32[2] r = Neg (a)
                        host int64[] j2 = Add (j, j)
                        host bool[] d = Less (j2, n)
                    }
            }
        "#]],
    );
}

#[test]
fn a_shape_that_branches_choose_is_on_the_host() {
    check(
        r#"g (float[6] x, bool c) => (float[a, b] y) {
            s = If (c) <
                then_branch = t () => (int64[2] p) { p = Constant <value_ints = [2, 3]> () },
                else_branch = e () => (int64[2] q) { q = Constant <value_ints = [3, 2]> () }
            >
            y = Reshape (x, s)
        }"#,
        expect![[r#"
            g (float32[6] x, host bool[] c) => (float32[reshape_0, reshape_1] y)
            <
                int64[2] p = {2, 3},
                int64[2] q = {3, 2}
            >
            {
                host int64[2] s = If (c)
                    then_branch () => (int64[2] p)
                    {
                    }
                    else_branch () => (int64[2] q)
                    {
                    }
                float32[reshape_0, reshape_1] y = Reshape (x, s)
            }
        "#]],
    );
}

#[test]
fn a_constant_that_branches_choose_for_the_device_is_there() {
    check(
        r#"g (float[2] x, bool c) => (float[2] y) {
            s = If (c) <
                then_branch = t () => (float p) { p = Constant <value_float = 2.0> () },
                else_branch = e () => (float q) { q = Constant <value_float = 3.0> () }
            >
            y = Mul (x, s)
        }"#,
        expect![[r#"
            g (float32[2] x, host bool[] c) => (float32[2] y)
            <
                float32[] p = {2},
                float32[] q = {3}
            >
            {
                float32[] s = If (c)
                    then_branch () => (float32[] p)
                    {
                    }
                    else_branch () => (float32[] q)
                    {
                    }
                float32[2] y = Mul (x, s)
            }
        "#]],
    );
}

#[test]
fn state_is_where_it_begins_or_where_it_is_needed() {
    check(
        r#"g (float[2] x, int64 n, int64 k) => (float[2] y, int64 h3, int64 d3) {
            count = Neg (n)
            best = ArgMax <keepdims = 0> (x)
            y, h3, d3, w3 = Loop (count, , x, count, k, best) <
                body = b (int64 i, bool c, float[2] a, int64 h, int64 d, int64 w)
                    => (bool go, float[2] a2, int64 h2, int64 d2, int64 w2) {
                    a2 = Neg (a)
                    h2 = Add (h, h)
                    d2 = Add (d, d)
                    w2 = Add (w, w)
                    go = Less (w2, count)
                }
            >
        }"#,
        expect![[r#"
            g (float32[2] x, host int64[] n, int64[] k) => (float32[2] y, host int64[] h3, int64[] d3)
            {
                host int64[] count = Neg (n)
                int64[] best = ArgMax <function: "arg_max", axis: 0> (x)
                float32[2] y, host int64[] h3, int64[] d3, _ = Loop (count, , x, count, k, best)
                    body (int64[] i, bool[] c, float32[2] a, host int64[] h, int64[] d, host int64[] w) => (host bool[] go, float32[2] a2, host int64[] h2, int64[] d2, host int64[] w2)
                    {
                        float32[2] a2 = Neg (a)
                        host int64[] h2 = Add (h, h)
                        int64[] d2 = Add (d, d)
                        host int64[] w2 = Add (w, w)
                        host bool[] go = Less (w2, count)
                    }
            }
        "#]],
    );
}

#[test]
fn what_a_loop_needs_on_the_host_begins_there() {
    check(
        r#"g (float[6] x, int64 n, int64[2] m) => (float[6] y) {
            one = Constant <value_int = 1> ()
            start = Less (one, n)
            y, _s = Loop (, start, x, m) <body = b (int64 i, bool c, float[6] p, int64[2] s)
                => (bool d, float[6] p2, int64[2] s2) {
                s2 = Add (s, s)
                r = Reshape (p, s2)
                q = Neg (r)
                six = Constant <value_ints = [6]> ()
                p2 = Reshape (q, six)
                d = Less (i, n)
            }>
        }"#,
        expect![[r#"
            g (float32[6] x, host int64[] n, host int64[2] m) => (float32[6] y)
            <
                int64[] one = {1},
                int64[1] six = {6}
            >
            {
                host bool[] start = Less (one, n)
                float32[6] y, _ = Loop (, start, x, m)
                    body (int64[] i, bool[] c, float32[6] p, host int64[2] s) => (host bool[] d, float32[6] p2, host int64[2] s2)
                    {
                        host int64[2] s2 = Add (s, s)
                        float32[reshape_0, reshape_1] r = Reshape (p, s2)
                        float32[reshape_0, reshape_1] q = Neg (r)
                        float32[6] p2 = Reshape (q, six)
                        host bool[] d = Less (i, n)
                    }
            }
        "#]],
    );
}

#[test]
fn state_is_where_later_iterations_need_it() {
    check(
        r#"g (float[6] x, int64 n, int64[2] m, int64[2] t0, int64[2] u0) => (float[6] y) {
            one = Constant <value_int = 1> ()
            start = Less (one, n)
            y, _s, _t, _u = Loop (, start, x, u0, t0, m) <body = b (int64 i, bool c, float[6] p, int64[2] u, int64[2] t, int64[2] s)
                => (bool d, float[6] p2, int64[2] u2, int64[2] t2, int64[2] s2) {
                s2 = Add (s, t)
                t2 = Add (t, u)
                u2 = Mul (u, u)
                r = Reshape (p, s)
                q = Neg (r)
                six = Constant <value_ints = [6]> ()
                p2 = Reshape (q, six)
                d = Less (i, n)
            }>
        }"#,
        expect![[r#"
            g (float32[6] x, host int64[] n, int64[2] m, int64[2] t0, int64[2] u0) => (float32[6] y)
            <
                int64[] one = {1},
                int64[1] six = {6}
            >
            {
                host bool[] start = Less (one, n)
                float32[6] y, _, _, _ = Loop (, start, x, u0, t0, m)
                    body (int64[] i, bool[] c, float32[6] p, host int64[2] u, host int64[2] t, host int64[2] s) => (host bool[] d, float32[6] p2, host int64[2] u2, host int64[2] t2, host int64[2] s2)
                    {
                        host int64[2] s2 = Add (s, t)
                        host int64[2] t2 = Add (t, u)
                        host int64[2] u2 = Mul (u, u)
                        float32[reshape_0, reshape_1] r = Reshape (p, s)
                        float32[reshape_0, reshape_1] q = Neg (r)
                        float32[6] p2 = Reshape (q, six)
                        host bool[] d = Less (i, n)
                    }
            }
        "#]],
    );
}

#[test]
fn state_that_the_host_does_not_need_is_on_the_device() {
    check(
        r#"g (float[2] x, int64 n) => (float[2] y) {
            one = Constant <value_int = 1> ()
            start = Less (one, n)
            y, _k = Loop (, start, x, one) <body = b (int64 i, bool c, float[2] a, int64 j)
                => (bool d, float[2] r, int64 j2) {
                f = Cast <to = 1> (j)
                r = Mul (a, f)
                j2 = Add (j, j)
                d = Less (i, n)
            }>
        }"#,
        expect![[r#"
            g (float32[2] x, host int64[] n) => (float32[2] y)
            <
                int64[] one = {1}
            >
            {
                host bool[] start = Less (one, n)
                float32[2] y, _ = Loop (, start, x, one)
                    body (int64[] i, bool[] c, float32[2] a, int64[] j) => (host bool[] d, float32[2] r, int64[] j2)
                    {
                        float32[] f = Cast <to: F32, saturate: true, toward: "Up"> (j)
                        float32[2] r = Mul (a, f)
                        int64[] j2 = Add (j, j)
                        host bool[] d = Less (i, n)
                    }
            }
        "#]],
    );
}

#[test]
fn collected_elements_are_on_the_host_if_only_it_needs_them() {
    check(
        r#"g (float[2] x, int64 n) => (float[2] y, float[a] w, int64[h] l) {
            one = Constant <value_int = 1> ()
            start = Less (one, n)
            y, _k, s, l = Loop (, start, x, one) <body = b (int64 i, bool c, float[2] a, int64 j)
                => (bool d, float[2] r, int64 j2, int64 v, int64 v2) {
                r = Neg (a)
                j2 = Add (j, j)
                v = Neg (j)
                v2 = Abs (j2)
                d = Less (j2, n)
            }>
            w = Tile (y, s)
        }"#,
        expect![[r#"
            g (float32[2] x, host int64[] n) => (float32[2] y, float32[tile] w, int64[iterations] l)
            <
                int64[] one = {1}
            >
            {
                host bool[] start = Less (one, n)
                float32[2] y, _, host int64[iterations] s, int64[iterations] l = Loop (, start, x, one)
                    body (int64[] i, bool[] c, float32[2] a, host int64[] j) => (host bool[] d, float32[2] r, host int64[] j2, host int64[] v, host int64[] v2)
                    {
                        float32[2] r = Neg (a)
                        host int64[] j2 = Add (j, j)
                        host int64[] v = Neg (j)
                        host int64[] v2 = Abs (j2)
                        host bool[] d = Less (j2, n)
                    }
                float32[tile] w = Tile (y, s)
            }
        "#]],
    );
}

#[test]
fn small_results_stay_on_the_host() {
    check(
        r#"g (float[2] x, int64 n) => (float[2] y, int64[64] u, int64[65] v) {
            m = Add (n, n)
            one = Constant <value_int = 1> ()
            c = Less (one, m)
            y = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) }, else_branch = e () => (float[2] q) { q = Abs (x) }>
            s = Constant <value_ints = [64]> ()
            u = Expand (m, s)
            l = Constant <value_ints = [65]> ()
            v = Expand (m, l)
        }"#,
        expect![[r#"
            g (float32[2] x, host int64[] n) => (float32[2] y, host int64[64] u, int64[65] v)
            <
                int64[] one = {1},
                int64[1] s = {64},
                int64[1] l = {65}
            >
            {
                host int64[] m = Add (n, n)
                host bool[] c = Less (one, m)
                float32[2] y = If (c)
                    then_branch () => (float32[2] p)
                    {
                        float32[2] p = Neg (x)
                    }
                    else_branch () => (float32[2] q)
                    {
                        float32[2] q = Abs (x)
                    }
                host int64[64] u = Expand (m, s)
                int64[65] v = Expand (m, l)
            }
        "#]],
    );
}

#[test]
fn what_branches_compute_is_on_the_host_if_only_it_needs_the_result() {
    check(
        r#"g (float[6] x, int64[2] n, bool c) => (float[a, b] y) {
            m = If (c) <then_branch = t () => (int64[2] p) { p = Add (n, n) }, else_branch = e () => (int64[2] q) { q = Mul (n, n) }>
            s = Add (m, m)
            y = Reshape (x, s)
        }"#,
        expect![[r#"
            g (float32[6] x, host int64[2] n, host bool[] c) => (float32[reshape_0, reshape_1] y)
            {
                host int64[2] m = If (c)
                    then_branch () => (host int64[2] p)
                    {
                        host int64[2] p = Add (n, n)
                    }
                    else_branch () => (host int64[2] q)
                    {
                        host int64[2] q = Mul (n, n)
                    }
                host int64[2] s = Add (m, m)
                float32[reshape_0, reshape_1] y = Reshape (x, s)
            }
        "#]],
    );
}
